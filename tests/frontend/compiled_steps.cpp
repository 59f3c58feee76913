// braze::compile on training steps: what the step leaves behind is what it leaves without it, bit for bit, and nothing is recorded or compiled
// for it but at first.
#include <cstring>

#include "braze/braze.h"
#include "braze/host.h"
#include "braze/nn.h"
#include "braze/optim.h"
#include "braze/optim/schedulers.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

std::vector<std::uint8_t> bits(const Tensor& t) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(t.nbytes()));
  t.detach().contiguous().copy_to(bytes.data(), t.dtype());
  return bytes;
}

Tensor batch(int i, std::int64_t n = 16) {
  return sin(arange(static_cast<double>(n * 8)) * (0.3 + i)).to(float32).reshape({n, 8}).eval();
}
Tensor classes(int i, std::int64_t n = 16) { return ((arange(n) * (i + 1)) % 3).eval(); }

struct Twin {
  nn::Linear first{8, 12}, second{12, 3};
  nn::Dropout dropout{nn::DropoutOptions{.p = 0.25}};
  nn::Sequential net{first, nn::Tanh(), dropout, second};

  std::vector<std::vector<std::uint8_t>> left(optim::Optimizer& optimizer) {
    std::vector<std::vector<std::uint8_t>> all;
    for (const Tensor& p : net->parameters()) {
      all.push_back(bits(p));
      if (p.grad().defined()) all.push_back(bits(p.grad()));
      for (const auto& [name, value] : optimizer.state(p)) all.push_back(bits(value));
    }
    all.push_back(bits(get_rng_state()));
    return all;
  }
};

// One step of each, from the same state of the generator; `each` before both.
template <class Optimizer, class Options, class F>
void together(const Options& options, F each, int steps = 12, int warm = 3) {
  manual_seed(3);
  Twin plain;
  manual_seed(3);
  Twin traced;
  Optimizer one(plain.net->parameters(), options), other(traced.net->parameters(), options);
  const auto step_of = [](Twin& twin, optim::Optimizer& optimizer) {
    return [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = nn::functional::cross_entropy(twin.net(x), y);
      loss.backward();
      optimizer.step();
      return loss;
    };
  };
  const auto compiled = compile(step_of(traced, other));
  for (int i = 0; i < steps; ++i) {
    const Tensor x = batch(i), y = classes(i), state = get_rng_state().eval();
    each(i, plain.net, one);
    const Tensor loss = step_of(plain, one)(x, y);
    const auto expected = plain.left(one);
    set_rng_state(state);
    each(i, traced.net, other);
    const EngineStatistics before = engine_statistics();
    const Tensor got = compiled(x, y);
    const EngineStatistics after = engine_statistics();
    INFO("step " << i);
    CHECK(bits(got) == bits(loss));
    CHECK(traced.left(other) == expected);
    if (i < warm) continue;
    CHECK(after.compilations == before.compilations);
    CHECK(after.evaluations == before.evaluations);
  }
}

const auto nothing = [](int, auto&, auto&) {};

}  // namespace

TEST_CASE("compiled steps: the rate changes, nothing is traced") {
  const auto rate = [](int i, auto&, optim::Optimizer& o) { o.set_lr(0.1 / (1 + i)); };
  together<optim::SGD>(optim::SGDOptions{.lr = 0.1}, rate);
  together<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01}, rate);
  together<optim::Adam>(optim::AdamOptions{.lr = 0.01}, rate);
  together<optim::AdamW>(optim::AdamWOptions{.lr = 0.01, .amsgrad = true, .maximize = true}, rate);
}

TEST_CASE("compiled steps: optimizers that keep numbers") {
  together<optim::NAdam>(optim::NAdamOptions{}, nothing);
  together<optim::ASGD>(optim::ASGDOptions{}, nothing);
  together<optim::RAdam>(optim::RAdamOptions{}, nothing, 12, 8);
  together<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.5, .centered = true}, nothing);
}

TEST_CASE("compiled steps: other settings and modes are other traces") {
  together<optim::SGD>(
      optim::SGDOptions{.lr = 0.1, .momentum = 0.9},
      [](int i, nn::Sequential& net, optim::Optimizer& o) {
        i % 5 == 3 ? net->eval() : net->train();
        if (i == 6) o.set(0, "nesterov", true);
        if (i == 8) o.load_state_dict(o.state_dict());
      },
      12, 99);
}

TEST_CASE("compiled steps: a loss is as after its backward, a graph is recorded op by op") {
  Tensor w = leaf({1.0, 2.0, 3.0});
  const auto step = compile([&](const Tensor& x) {
    w.set_grad({});
    const Tensor loss = (w * x).square().sum();
    loss.backward();
    return loss;
  });
  for (int i = 1; i < 4; ++i) {
    const Tensor x = full({3}, i).to(float32).eval();
    const Tensor loss = step(x);
    CHECK(loss.requires_grad());
    CHECK(loss.grad_fn().name() == "SumBackward0");
    CHECK(floats(w.grad()) == Floats{2.0f * i * i, 4.0f * i * i, 6.0f * i * i});
    CHECK_THAT(refused([&] { loss.backward(); }), Catch::Matchers::ContainsSubstring("a second time"));
  }
  const auto graph = compile([&](const Tensor& x) { return (w * x).sum(); });
  for (int i = 1; i < 3; ++i) {
    w.set_grad({});
    graph(full({3}, i).to(float32)).backward();
    CHECK(floats(w.grad()) == Floats(3, static_cast<float>(i)));
  }
}

TEST_CASE("compiled steps: gradients gather, and are what the caller left") {
  Tensor w = leaf({1.0, 2.0});
  const auto gather = compile([&](const Tensor& x) {
    const Tensor loss = (w * x).sum();
    loss.backward();
    return loss.detach();
  });
  const Tensor x = ones({2}).eval();
  for (int i = 1; i < 5; ++i) {
    gather(x);
    CHECK(floats(w.grad()) == Floats(2, static_cast<float>(i)));
  }
  w.set_grad({});
  gather(x);
  CHECK(floats(w.grad()) == Floats(2, 1));
  w.set_grad(full({2}, 10.0f));
  gather(x);
  CHECK(floats(w.grad()) == Floats(2, 11));
}

TEST_CASE("compiled steps: results of one value have storages of their own") {
  const auto f = compile([](const Tensor& x) {
    const Tensor y = x + 1;
    return std::tuple(y, y.clone() * 1, y.view({-1}));
  });
  for (int i = 0; i < 2; ++i) {
    auto [y, other, view] = f(zeros({2, 2}));
    y.fill_(5);
    CHECK(floats(other) == Floats(4, 1));
    CHECK(floats(view) == Floats(4, 5));
  }
  Tensor a = leaf({1.0}), b = leaf({2.0});
  const auto sum = compile([&](const Tensor& x) {
    a.set_grad({});
    b.set_grad({});
    const Tensor loss = ((a + b) * x).sum();
    loss.backward();
    return loss.detach();
  });
  for (int i = 0; i < 3; ++i) {
    sum(ones({1}).eval());
    Tensor(a.grad()).fill_(7);
    CHECK(floats(b.grad()) == Floats{1});
  }
}

TEST_CASE("compiled steps: what cannot be repeated runs as it is") {
  Tensor w = leaf({1.0, 2.0});
  int calls = 0;
  std::string notes;
  const unsigned before = set_explain(explain_bits("compile"));
  static std::string* lines = nullptr;
  lines = &notes;
  set_log_sink([](const char* line) { *lines += std::string(line) + "\n"; });
  const auto reads = compile([&](const Tensor& x) {
    ++calls;
    w.set_grad({});
    const Tensor loss = (w * x).sum();
    loss.backward();
    return loss.item<float>() > 3 ? x : -x;
  });
  CHECK(floats(reads(ones({2}).eval())) == Floats(2, -1));
  CHECK(floats(reads(full({2}, 2.0f).eval())) == Floats(2, 2));
  CHECK(floats(w.grad()) == Floats(2, 2));
  CHECK(calls == 3);
  CHECK_THAT(notes, Catch::Matchers::ContainsSubstring("runs as it is: a value is needed while a function is being traced"));
  int heard = 0;
  const HookHandle hook = w.register_hook([&](const Tensor& g) {
    ++heard;
    return g * 2;
  });
  const auto hooked = compile([&](const Tensor& x) {
    w.set_grad({});
    const Tensor loss = (w * x).sum();
    loss.backward();
    return loss.detach();
  });
  for (int i = 1; i < 4; ++i) hooked(ones({2}).eval());
  CHECK(heard == 3);
  CHECK(floats(w.grad()) == Floats(2, 2));
  CHECK_THAT(notes, Catch::Matchers::ContainsSubstring("hooks"));
  set_log_sink(nullptr);
  set_explain(before);
}
