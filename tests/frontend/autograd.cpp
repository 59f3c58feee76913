// Gradients of what was computed: leaves, graphs, modes, accumulation. Values and words as PyTorch 2.15 gives them.
#include <cmath>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("autograd: the gradient of a sum of squares, pending and evaluated in between") {
  for (const bool evaluated : {false, true}) {
    const Tensor x = leaf({1.0, 2.0, 3.0});
    const Tensor y = x * x, z = exp(y * 0.1), loss = z.sum();
    if (evaluated) {
      y.eval();
      loss.eval();
    }
    loss.backward();
    const Floats got = floats(x.grad());
    for (std::size_t i = 0; i < 3; ++i) {
      const double v = static_cast<double>(i + 1);
      CHECK(got[i] == Approx(0.2 * v * std::exp(0.1 * v * v)));
    }
  }
}

TEST_CASE("autograd: evaluating or printing an intermediate changes no gradient and cuts no graph") {
  const auto gradient = [](bool look) {
    manual_seed(7);
    const Tensor w = randn({5, 4}).requires_grad_(), x = randn({3, 5});
    const Tensor h = x.matmul(w), a = relu(h), s = a.sum(0), m = softmax(s, 0);
    if (look) {
      for (const Tensor& t : {h, a, s, m}) t.str();
      CHECK(h.is_evaluated());
    }
    (m * m).sum().backward();
    return floats(w.grad());
  };
  CHECK(gradient(false) == gradient(true));
}

TEST_CASE("autograd: a donated operand is not lost to the backward pass") {
  // The product's operands die before it is evaluated, which would give their memory away.
  Tensor x = leaf({1.0, 2.0, 3.0, 4.0});
  Tensor y = exp(x);
  y.eval();
  Tensor z = y * y + sin(y);
  y = Tensor();
  z.eval();
  z.sum().backward();
  const Floats got = floats(x.grad());
  for (std::size_t i = 0; i < 4; ++i) {
    const double e = std::exp(static_cast<double>(i + 1));
    CHECK(got[i] == Approx(e * (2 * e + std::cos(e))).epsilon(1e-3));
  }
}

TEST_CASE("autograd: flags of leaves and of what is computed") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = x * 2, z = y.detach();
  CHECK(x.is_leaf());
  CHECK(x.requires_grad());
  CHECK_FALSE(y.is_leaf());
  CHECK(y.requires_grad());
  CHECK(z.is_leaf());
  CHECK_FALSE(z.requires_grad());
  CHECK(z.shares_storage(y));
  CHECK_FALSE((y > 1).requires_grad());
  CHECK_FALSE(y.to(int64).requires_grad());
  CHECK_FALSE(x.clone().is_leaf());
  CHECK(x.clone().grad_fn().name() == "CloneBackward0");
  {
    const NoGradGuard off;
    CHECK_FALSE((x * 2).requires_grad());
    CHECK_FALSE(y.clone().requires_grad());
    CHECK_FALSE(x(0).requires_grad());
    CHECK(y.requires_grad());
  }
  CHECK((x * 2).requires_grad());
}

TEST_CASE("autograd: gradients accumulate in place, and zeroing them starts anew") {
  const Tensor x = leaf({1.0, 2.0});
  (x * x).sum().backward();
  const Tensor g = x.grad();
  (x * 3).sum().backward();
  CHECK(x.grad().impl() == g.impl());
  CHECK(floats(g) == Floats{5, 7});
  x.grad().zero_();
  (x * 5).sum().backward();
  CHECK(floats(g) == Floats{5, 5});
  x.set_grad({});
  CHECK_FALSE(x.grad().defined());
  x.sum().backward();
  CHECK(floats(g) == Floats{5, 5});
  CHECK(floats(x.grad()) == Floats{1, 1});
}

TEST_CASE("autograd: a second backward is an error where values had been saved, as in PyTorch") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = x * x, total = y.sum();
  total.backward(Tensor(), true);
  total.backward();
  CHECK(floats(x.grad()) == Floats{4, 8});
  CHECK(has(refused<Error>([&] { total.backward(); }), "backward through the graph a second time"));
  CHECK(has(refused<Error>([&] { y.sum().backward(); }), "backward through the graph a second time"));
  CHECK(floats((y + x).detach()) == Floats{2, 6});
  const Tensor linear = (x + 2).sum();
  linear.backward();
  linear.backward();
  CHECK(floats(x.grad()) == Floats{6, 10});
}

TEST_CASE("autograd: bad calls raise in PyTorch's words") {
  const Tensor x = leaf({1.0, 2.0});
  CHECK(refused<Error>([&] { (x * 2).backward(); }) == "grad can be implicitly created only for scalar outputs");
  CHECK(refused<Error>([&] { ones({1}).sum().backward(); }) ==
        "element 0 of tensors does not require grad and does not have a grad_fn");
  CHECK(refused<Error>([&] { (x * 2).backward(ones({3})); }) ==
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).");
  CHECK(has(refused<Error>([&] {
              Tensor y = x * 2;
              y.requires_grad_(false);
            }),
            "you can only change requires_grad flags of leaf variables."));
  CHECK(has(refused<Error>([&] { ones({1}, {int64}).requires_grad_(); }), "can require gradients"));
  CHECK(refused<Error>([&] { ones({1}).retain_grad(); }) == "can't retain_grad on Tensor that has requires_grad=False");
  CHECK(refused<Error>([&] { ones({1}).register_hook([](const Tensor& g) { return g; }); }) ==
        "cannot register a hook on a tensor that doesn't require gradient");
  CHECK(has(refused<Error>([&] { x.set_grad(ones({3})); }),
            "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'"));
  CHECK(has(refused<Error>([&] { autograd::grad((x * 2).sum(), leaf({1.0})); }), "appears to not have been used in the graph"));
  CHECK(refused<Error>([&] { autograd::grad((x * 2).sum(), ones({1})); }) ==
        "One of the differentiated Tensors does not require grad");
}

TEST_CASE("autograd: hooks see the summed gradient, may change it, and can be taken back") {
  const Tensor x = leaf({1.0, 2.0});
  std::vector<Floats> seen;
  HookHandle first = x.register_hook([&](const Tensor& g) {
    seen.push_back(floats(g));
    return g * 2;
  });
  const Tensor y = x * 1;
  y.register_hook([&](const Tensor& g) {
    seen.push_back(floats(g));
    return Tensor();
  });
  (y * 2 + y * 3).sum().backward();
  CHECK(seen == std::vector<Floats>{{5, 5}, {5, 5}});
  CHECK(floats(x.grad()) == Floats{10, 10});
  first.remove();
  int gathered = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor& leaf) { gathered += leaf.grad().numel() == 2; });
  x.sum().backward();
  CHECK(floats(x.grad()) == Floats{11, 11});
  CHECK(gathered == 1);
}

TEST_CASE("autograd: retain_grad and autograd::grad of intermediates, views among them") {
  const Tensor x = leaf({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  const Tensor y = x * 2, v = y.t(), row = v(0);
  y.retain_grad();
  v.retain_grad();
  ((row * row).sum() + y.sum()).backward();
  CHECK(floats(v.grad()) == Floats{4, 16, 0, 0, 0, 0});
  CHECK(floats(y.grad()) == Floats{5, 1, 1, 17, 1, 1});
  CHECK(v.grad().strides() == Sizes{1, 3});
  const Tensor z = x * 3;
  CHECK(floats(autograd::grad((z * z).sum(), z)) == Floats{6, 12, 18, 24, 30, 36});
  const Tensor part = z(slice(0, 1));
  CHECK(floats(autograd::grad((part * z(1)).sum() + z.sum(), part)) == Floats{12, 15, 18});
}

TEST_CASE("autograd: derivatives of derivatives") {
  const Tensor x = leaf({2.0});
  Tensor g = pow(x, 4).sum();
  Floats values;
  for (int i = 0; i < 4; ++i) {
    g = autograd::grad(g.sum(), x, {.create_graph = true});
    values.push_back(floats(g)[0]);
  }
  CHECK(values == Floats{32, 48, 48, 24});
  const Tensor once = autograd::grad(pow(x, 3).sum(), x);
  CHECK(has(refused<Error>([&] { once.sum().backward(); }), "does not require grad"));
}

TEST_CASE("autograd: names of steps and what prints") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = exp(x * 2 + 1);
  CHECK(y.grad_fn().name() == "ExpBackward0");
  const GradFn add = y.grad_fn().next_functions()[0].first;
  CHECK(add.name() == "AddBackward0");
  const GradFn mul = add.next_functions()[0].first;
  CHECK(mul.name() == "MulBackward0");
  REQUIRE(mul.next_functions().size() == 2);
  CHECK(mul.next_functions()[0].first.name() == "torch::autograd::AccumulateGrad");
  CHECK_FALSE(static_cast<bool>(mul.next_functions()[1].first));
  CHECK(x.str() == "tensor([1., 2.], requires_grad=True)");
  CHECK((x * 2).str() == "tensor([2., 4.], grad_fn=<MulBackward0>)");
  CHECK(x.mean().str() == "tensor(1.5000, grad_fn=<MeanBackward0>)");
  CHECK(x.sum(0).grad_fn().name() == "SumBackward1");
  CHECK(x.matmul(x).grad_fn().name() == "DotBackward0");
  CHECK(x(0).grad_fn().name() == "SelectBackward0");
  CHECK(x(slice(0, 1)).grad_fn().name() == "SliceBackward0");
  CHECK((2 - x).grad_fn().name() == "RsubBackward1");
  CHECK(pow(2, x).grad_fn().name() == "PowBackward2");
}

TEST_CASE("autograd: a chain of 100,000 ops needs no stack") {
  const Tensor x = leaf({1.0});
  Tensor z = x;
  for (int i = 0; i < 100000; ++i) z = z + 0.001;
  z.sum().backward();
  CHECK(floats(x.grad()) == Floats{1});
}

TEST_CASE("autograd: what is computed in halves, doubles and complex numbers") {
  const Tensor x = tensor({1.0, 2.0}, {float64}).requires_grad_();
  (x.to(float32) * 2).sum().backward();
  CHECK(x.grad().dtype() == float64);
  CHECK(x.grad().to_vector<double>() == std::vector<double>{2, 2});
  const Tensor h = tensor({1.0, 2.0}, {float16}).requires_grad_();
  (h * h).sum().backward();
  CHECK(h.grad().dtype() == float16);
  CHECK(floats(h.grad().to(float32)) == Floats{2, 4});
  const Tensor z = complex(tensor({1.0, 2.0}), tensor({3.0, -1.0})).requires_grad_();
  (z * z.conj()).real().sum().backward();  // |z|^2, whose gradient is 2z
  CHECK(floats(z.grad().real()) == Floats{2, 4});
  CHECK(floats(z.grad().imag()) == Floats{6, -2});
}

TEST_CASE("autograd: a leaf of no elements, and one that lies transposed") {
  const Tensor none = zeros({0, 3}).requires_grad_();
  none.sum().backward();
  CHECK(none.grad().sizes() == Sizes{0, 3});
  Tensor x = zeros({2, 3}).t().requires_grad_();
  (x * 2).sum().backward();
  CHECK(x.grad().sizes() == Sizes{3, 2});
  CHECK(x.grad().strides() == Sizes{1, 3});
}

TEST_CASE("autograd: a leaf whose elements share a place has a gradient for each") {
  const Tensor x = zeros({1}).expand({3}).requires_grad_();
  (x * tensor({1.0, 2.0, 3.0})).sum().backward();
  CHECK(floats(x.grad()) == Floats{1, 2, 3});
}

TEST_CASE("autograd: elements of a view that share a place have gradients of their own") {
  const Tensor w = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = x.unsqueeze(1).expand({2, 3});
  const Tensor part = y.t().select(0, 1);
  y.retain_grad();
  CHECK(floats(autograd::grad((y * w).sum(), y, {.retain_graph = true})) == Floats{1, 2, 3, 4, 5, 6});
  HookHandle gone = y.register_hook([](const Tensor& g) { return g * 100; });
  gone.remove();
  y.register_hook([&](const Tensor& g) { return g * w; });
  ((y * w).sum() + (part * 10).sum() + x.sum()).backward();
  CHECK(floats(y.grad()) == Floats{2, 26, 12, 20, 80, 42});
  CHECK(floats(x.grad()) == Floats{35, 128});

  const Tensor z = leaf({0.0, 1.0, 2.0, 3.0});
  const Tensor windows = z.unfold(0, 2, 1), strided = z.as_strided({3, 2}, {1, 1});
  CHECK(floats(autograd::grad((windows * windows).sum(), windows, {.retain_graph = true})) == Floats{0, 2, 2, 4, 4, 6});
  CHECK(floats(autograd::grad((strided * strided).sum(), strided, {.retain_graph = true})) == Floats{0, 2, 2, 4, 4, 6});

  const Tensor own = arange(4.0).unfold(0, 2, 1).requires_grad_();
  (own * own).sum().backward();
  CHECK(floats(own.grad()) == Floats{0, 2, 2, 4, 4, 6});
}

TEST_CASE("autograd: what was read as the memory below such a view is no part of its gradient, which is said") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = x.unsqueeze(1).expand({2, 3});
  const Tensor below = y.as_strided({2}, {1});
  CHECK_THROWS_WITH(autograd::grad(y.sum() + below.sum(), y, {.retain_graph = true}),
                    Catch::Contains("sizes [2, 3]") && Catch::Contains("clone()"));
  HookHandle hook = y.register_hook([](const Tensor& g) { return g; });
  CHECK_THROWS_WITH((y.sum() + below.sum()).backward(), Catch::Contains("clone()"));
  hook.remove();
  const Tensor again = y.as_strided({2}, {1});
  (y.sum() + again.sum()).backward();
  CHECK(floats(x.grad()) == Floats{4, 4});
}

TEST_CASE("autograd: forward, backward and an update are one program, and the next step compiles nothing") {
  const auto step = [](Tensor& w, const Tensor& x) {
    w.set_grad({});
    const Tensor loss = pow(x.matmul(w), 2).mean();
    loss.backward();
    const NoGradGuard off;
    w -= w.grad() * 0.1;
    w.eval();
  };
  manual_seed(3);
  Tensor w = randn({8, 2}).requires_grad_();
  const Tensor x = randn({16, 8});
  eval({w, x});
  const EngineStatistics before = engine_statistics();
  step(w, x);
  CHECK(engine_statistics().evaluations == before.evaluations + 1);
  step(w, x);
  const EngineStatistics warm = engine_statistics();
  for (int i = 0; i < 5; ++i) step(w, x);
  CHECK(engine_statistics().compilations == warm.compilations);
}

TEST_CASE("what a detached result was made of may go in the evaluation that keeps it for a backward pass") {
  const Tensor x = ones({8, 4}).requires_grad_();
  for (int i = 0; i < 20; ++i) {
    const Tensor cut = matmul(x, ones({4, 2})).sum(0).detach();  // nobody holds the product, nor its sum
    CHECK(cut(0).item<float>() == 32);
  }
}
