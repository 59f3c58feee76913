// braze::compile: traces, calls, captures and commits.
#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("a compiled function gives what the function gives") {
  int traces = 0;
  const auto f = compile([&](const Tensor& a, const Tensor& b) {
    ++traces;
    return tanh(a * 2 + b).sum(1);
  });
  for (int i = 1; i < 5; ++i) {
    const Tensor a = ones({2, 3}) * i, b = ones({2, 3}) * 0.1;
    CHECK(floats(f(a, b)) == floats(tanh(a * 2 + b).sum(1)));
  }
  CHECK(traces == 1);
  CHECK(f(ones({4, 1}), ones({4, 1})).sizes() == Sizes{4});
  CHECK(traces == 2);
}

TEST_CASE("arguments may be views, pending, and the same tensor twice") {
  const auto f = compile([](const Tensor& a, const Tensor& b) { return a - b; });
  const Tensor x = arange(6).to(float32).reshape({2, 3});
  CHECK(floats(f(x.t(), x.t() * 2)) == Floats{0, -3, -1, -4, -2, -5});
  CHECK(floats(f(x, x)) == Floats(6, 0));
  CHECK(floats(f(x(slice(), slice(1, none)), x(slice(), slice(0, 2)))) == Floats(4, 1));
}

TEST_CASE("captured tensors are read at each call, and writes to them are committed") {
  Tensor state = zeros({2});
  const auto step = compile([&](const Tensor& x) {
    state += x;
    return state * 10;
  });
  CHECK(floats(step(ones({2}))) == Floats{10, 10});
  CHECK(floats(step(ones({2}))) == Floats{20, 20});
  CHECK(floats(state) == Floats{2, 2});
  state.fill_(100);
  CHECK(floats(step(ones({2}))) == Floats{1010, 1010});
}

TEST_CASE("an argument that is what the function captured is traced by itself") {
  Tensor state = zeros({4});
  int traces = 0;
  const auto f = compile([&](Tensor x) {
    ++traces;
    x += 1;
    return state * 1;
  });
  CHECK(floats(f(zeros({4}))) == Floats(4, 0));
  CHECK(floats(f(state)) == Floats(4, 1));  // written through the argument, read through the capture
  CHECK(floats(f(zeros({4}))) == Floats(4, 1));
  CHECK(traces == 3);  // apart once, and once more when the argument turned out to be what is captured
}

TEST_CASE("writes to arguments are committed too") {
  const auto f = compile([](Tensor x) {
    x(slice(0, 1)) = 7;
    return x.sum();
  });
  Tensor a = ones({3}), b = zeros({3});
  CHECK(f(a).item<float>() == 9);
  CHECK(f(b).item<float>() == 7);
  CHECK(floats(b) == Floats{7, 0, 0});
}

TEST_CASE("several results, results that are arguments") {
  const auto f = compile([](const Tensor& a) { return std::tuple(a + 1, a.t(), a); });
  const Tensor x = arange(4).to(float32).reshape({2, 2});
  const auto [plus, transposed, same] = f(x);
  CHECK(floats(plus) == Floats{1, 2, 3, 4});
  CHECK(floats(transposed) == Floats{0, 2, 1, 3});
  CHECK(same.shares_storage(x));
}

TEST_CASE("needing a value while tracing throws") {
  const auto f = compile([](const Tensor& a) { return a.sum().item<float>() > 0 ? a : -a; });
  CHECK_THROWS_WITH(f(ones({2})), Catch::Matchers::ContainsSubstring("traced"));
}

TEST_CASE("new lengths trace again but compile little") {
  const auto f = compile([](const Tensor& a) { return a * 3 - 1; });
  f(ones({4}));
  const std::uint64_t before = engine_statistics().compilations;
  for (std::int64_t n = 5; n < 40; ++n) REQUIRE(f(ones({n}))(n - 1).item<float>() == 2);
  CHECK(engine_statistics().compilations - before <= 2);
}

TEST_CASE("a function may be given the very tensor that it captures") {
  Tensor x = arange(3).to(float32);
  const auto minus = compile([&](const Tensor& a) { return a * 10 - x; });
  CHECK(minus(x).to_vector<float>() == std::vector<float>{0, 9, 18});
  CHECK(minus(ones({3})).to_vector<float>() == std::vector<float>{10, 9, 8});  // x is still what was captured
  CHECK(minus(x).to_vector<float>() == std::vector<float>{0, 9, 18});

  const auto seen = compile([&](Tensor a) {
    a += 1;
    return x * 1;
  });
  CHECK(seen(x).to_vector<float>() == std::vector<float>{1, 2, 3});  // the write is seen in what was captured
  Tensor other = zeros({3});
  CHECK(seen(other).to_vector<float>() == std::vector<float>{1, 2, 3});
  CHECK(other.to_vector<float>() == std::vector<float>{1, 1, 1});
  CHECK(seen(x).to_vector<float>() == std::vector<float>{2, 3, 4});
}

TEST_CASE("a function that returns its argument returns the very tensor") {
  const auto f = compile([](Tensor a) {
    a += 1;
    a(0, slice(0, 0)) = 4;
    return a;
  });
  const Tensor x = zeros({2, 3});
  Tensor same = f(x);
  CHECK(same.impl() == x.impl());
  same.transpose_(0, 1);
  CHECK(x.sizes() == Sizes{3, 2});
  CHECK(x.sum().item<float>() == 6);
}
