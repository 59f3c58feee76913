// The engine: what is compiled when, what stays pending, and how deep and how parallel it may get.
#include <pthread.h>

#include <thread>

#include "braze/braze.h"
#include "frontend/engine/engine.h"
#include "tests/catch.h"

using namespace braze;

namespace {

std::uint64_t compilations() { return engine_statistics().compilations; }

// Runs `body` on a stack of 256 KiB.
void on_small_stack(void (*body)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* f) -> void* {
                reinterpret_cast<void (*)()>(f)();
                return nullptr;
              },
              reinterpret_cast<void*>(body)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("nothing runs until a value is needed") {
  const Tensor x = ones({8}), y = (x + 1) * 2;
  CHECK_FALSE(y.is_evaluated());
  CHECK(y(0).item<float>() == 4);
  CHECK(y.is_evaluated());
}

TEST_CASE("lengths, offsets and scalars that change compile at most twice") {
  const Tensor base = arange(5000).to(float32).eval();
  const std::uint64_t before = compilations();
  for (std::int64_t n = 2; n < 102; ++n) {
    const Tensor x = base(slice(3 * n, 3 * n + 5 * n + 1));
    const Tensor y = (x * (0.5 + static_cast<double>(n)) + x).eval();
    REQUIRE(y(1).item<float>() == Catch::Approx((3.0 * double(n) + 1) * (1.5 + double(n))));
  }
  CHECK(compilations() - before <= 2 + 1);  // one more for y(1)'s storage read, which compiles nothing
}

TEST_CASE("a tensor that is read twice has the same places each time, so that what reads it fuses") {
  const Tensor x = (arange(12 * 40).to(float32) / 100).eval().reshape({12, 40});  // a look at memory of one axis
  const std::string fused = softmax(x, 1).dump("fused");
  CAPTURE(fused);
  CHECK(fused.find("kernel ") == fused.rfind("kernel "));
}

TEST_CASE("two looks at one memory that once were alike may differ the next time") {
  const Tensor x = arange(24).to(float32).eval();
  const auto joined = [&](SizesView a, SizesView b) {
    return x.reshape(a).sum(0).sum() * 100 + (x.reshape(b) * x.reshape(b)).sum(1).max();
  };
  const auto expected = [](int columns) {
    double sum = 0;
    for (int i = 24 - columns; i < 24; ++i) sum += i * i;
    return 276 * 100 + sum;
  };
  CHECK(joined({4, 6}, {4, 6}).item<double>() == expected(6));
  CHECK(joined({4, 6}, {3, 8}).item<double>() == expected(8));
  CHECK(joined({6, 4}, {6, 4}).item<double>() == expected(4));
  CHECK(joined({2, 12}, {6, 4}).item<double>() == expected(4));
}

TEST_CASE("many rows of a softmax, a row behind the other, have the bits of one op at a time") {
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const std::int64_t rows : {1, 127, 129, 1100})
      for (const std::int64_t length : {1, 63, 64, 2050}) {
        const Tensor x = ((arange(rows * length) * 7919) % 1009).to(type).reshape({rows, length}) / 50;
        const auto bytes = [](const Tensor& t) {
          std::vector<std::byte> out(static_cast<std::size_t>(t.nbytes()));
          t.copy_to(out.data(), t.dtype());
          return out;
        };
        x.eval();
        const auto fused = bytes(softmax(x, 1));
        const EagerScope scope;
        INFO(rows << " rows of " << length);
        REQUIRE(fused == bytes(softmax(x, 1)));
      }
}

TEST_CASE("a million recorded ops are built and dropped on a small stack") {
  on_small_stack([] {
    engine::Limits& limits = engine::limits();
    const engine::Limits saved = limits;
    limits.height = ~0u;
    limits.nodes = 1 << 30;
    {
      Tensor x = ones({1});
      for (int i = 0; i < 1000000; ++i) x = x + 1;
    }
    limits = saved;
  });
}

TEST_CASE("a long loop flushes by itself and compiles little") {
  const std::uint64_t before = compilations();
  Tensor x = zeros({3});
  for (int i = 0; i < 5000; ++i) x = x + 1;
  CHECK(x(0).item<float>() == 5000);
  CHECK(compilations() - before <= 4);
}

TEST_CASE("a wide graph is flushed by the number of its ops") {
  const engine::Limits saved = engine::limits();
  engine::limits().nodes = 100;
  const std::uint64_t before = engine_statistics().evaluations;
  Tensor total = zeros({2});
  for (int i = 0; i < 300; ++i) total = total + (ones({2}) * i).square();
  CHECK(engine_statistics().evaluations - before >= 2);
  CHECK(total(1).item<float>() == 8955050);
  engine::limits() = saved;
}

TEST_CASE("threads that read one pending tensor evaluate it once") {
  const Tensor x = arange(100000).to(float32), y = (tanh(x) * 2).sum();
  const std::uint64_t before = engine_statistics().evaluations;
  std::vector<std::thread> threads;
  std::vector<float> seen(4);
  for (std::size_t i = 0; i < seen.size(); ++i) threads.emplace_back([&, i] { seen[i] = y.item<float>(); });
  for (std::thread& t : threads) t.join();
  for (const float v : seen) CHECK(v == seen[0]);
  CHECK(engine_statistics().evaluations - before == 1);
}

TEST_CASE("threads that record and evaluate by themselves do not disturb each other") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const Tensor shared = arange(64).to(float32);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor y = shared * t + i;
        if (y(3).item<float>() != static_cast<float>(3 * t + i)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a value that a name still holds is left in memory by the evaluation of its user") {
  const Tensor x = arange(16).to(float32), held = x * 2, user = held + 1;
  user.eval();
  CHECK(held.is_evaluated());
}

TEST_CASE("what another reader would have to compute a product again for is left in memory, too") {
  const Tensor x = arange(16).to(float32).reshape({4, 4}).eval();
  Tensor one, other;
  {
    const Tensor between = sqrt(relu(matmul(x, x)) + 1);
    one = between * 2;
    other = between * 3;
  }
  one.eval();
  CHECK(other.dump("graph").find("dot") == std::string::npos);
  CHECK(allclose(other, one * 1.5));
}

TEST_CASE("a failed value throws again, and what it was made of stays usable") {
  const Tensor a = arange(4), zero = zeros({4}, {int64});
  const Tensor bad = floor_divide(a, zero);
  CHECK_THROWS_WITH(bad.eval(), Catch::Matchers::ContainsSubstring("division") && Catch::Matchers::ContainsSubstring("engine.cpp"));
  CHECK_THROWS_AS(bad.eval(), Error);
  CHECK(a.sum().item<int>() == 6);
}

TEST_CASE("a failed write leaves the storage at its last good version") {
  Tensor x = arange(4).eval();
  x(slice(0, 2)) = floor_divide(x(slice(0, 2)), zeros({2}, {int64}));
  CHECK_THROWS_AS(x.eval(), Error);
  CHECK(x.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a failed write of a whole tensor leaves it at its last good version, later writes dropped") {
  const Tensor zero = zeros({4}, {int64});
  const std::vector<std::int64_t> numbers = {0, 1, 2, 3};
  Tensor copied = arange(4);
  copied.copy_(floor_divide(copied, zero));
  CHECK_THROWS_AS(copied.eval(), Error);
  CHECK(copied.to_vector<std::int64_t>() == numbers);

  Tensor updated = arange(4);
  updated += 1;
  updated -= 1;
  updated.remainder_(zero);
  updated += 5;
  updated(0) = 7;
  CHECK_THROWS_AS(updated.eval(), Error);
  CHECK(updated.to_vector<std::int64_t>() == numbers);

  Tensor transposed = arange(4).reshape({2, 2}).t();
  transposed.copy_(transposed(tensor({0, 4}) + 1));  // an index out of range
  CHECK_THROWS_AS(transposed.eval(), Error);
  CHECK(transposed.reshape({4}).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 2, 1, 3});
}

TEST_CASE("dump shows each stage and evaluates nothing") {
  const Tensor x = ones({4, 8}), y = (x * 2).sum(1);
  for (const char* stage : {"graph", "fused", "loops", "steps", "llvm", "assembly", "cuda"}) {
    INFO(stage);
    CHECK(y.dump(stage).size() > 20);
  }
  CHECK_FALSE(y.is_evaluated());
  CHECK_THROWS_AS(y.dump("nonsense"), ValueError);
  CHECK(y.dump().find("engine.cpp:") != std::string::npos);  // source lines
}

TEST_CASE("describe tells a debugger what a tensor is and evaluates nothing") {
  const Tensor x = ones({2, 3}), y = (x + 1).t();
  CHECK(y.describe().starts_with("float32[3, 2] strides [1, 3], pending add at "));
  CHECK_FALSE(y.is_evaluated());
  CHECK(Tensor().describe() == "undefined");
  y.eval();
  CHECK(y.describe().find("evaluated add") != std::string::npos);
}

TEST_CASE(
    "a state that goes on from step to step, and is only read through what is made of it, is not computed from its beginning "
    "again") {
  const Tensor x = ones({8, 4});
  const auto second_half = [](auto step) {
    std::uint64_t before = 0;
    for (int i = 0; i < 40; ++i) {
      if (i == 20) before = compilations();
      step(i);
    }
    return compilations() - before;
  };
  Tensor rebound = ones({4}), written = ones({4});
  float sum = 0;
  CHECK(second_half([&](int) {
          const Tensor seen = (x * rebound).sum();
          rebound = rebound * 0.5f + 1;
          sum = seen.item<float>();
        }) == 0);
  CHECK(sum == 64);  // 8 rows of four twos
  CHECK(second_half([&](int) {
          const Tensor seen = (x * written).sum();
          written.mul_(2);
          sum = seen.item<float>();
        }) == 0);
  CHECK(sum == std::ldexp(32.f, 39));
  CHECK(second_half([&](int) { sum = rand({8, 4}).sum().item<float>(); }) == 0);
  Tensor leaf = ones({4}).requires_grad_();
  CHECK(second_half([&](int) {
          const Tensor loss = (x * leaf).sum();
          leaf.set_grad({});
          loss.backward();
          {
            const NoGradGuard guard;
            leaf.sub_(leaf.grad() * 0.125f);
          }
          sum = loss.item<float>();
        }) == 0);
  CHECK(sum == 32 - 39 * 32);
}
