// braze::Expression: text in, values and derivatives out, whose text goes in again.
#include "braze/expression.h"

#include <cmath>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("an expression is compiled once and takes arguments by name") {
  for (const std::int64_t n : {1, 4, 7}) {
    const Expression decay("a * exp(-k * x)", {{"x", float64, {n}}});
    CHECK(decay.names() == std::vector<std::string>{"x", "a", "k"});
    const Tensor x = arange(n).to(float64);
    const Doubles got = doubles(decay({{"a", 2.0}, {"k", 0.5}, {"x", x}}));
    REQUIRE(got.size() == static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(2 * std::exp(-0.5 * static_cast<double>(i))));
  }
}

TEST_CASE("the derivative of an expression is an expression, and its text is one, to any order") {
  const Expression f("a * exp(-k * x)", {{"x", float64, {5}}});
  const Tensor x = arange(5).to(float64) / 4;
  const Expression::Arguments at{{"a", 2.0}, {"k", 0.5}, {"x", x}};
  Expression d = f;
  double sign = 1;
  for (int order = 1; order <= 3; ++order) {
    d = Expression(d.derivative("k").text());
    sign = -sign;
    const Doubles got = doubles(d(at));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double t = static_cast<double>(i) / 4;
      CHECK(got[i] == Approx(sign * 2 * std::pow(t, order) * std::exp(-0.5 * t)));
    }
    CHECK(Expression(d.text()).text() == d.text());
  }
  // In one that has dims, element by element.
  const Doubles slope = doubles(f.derivative("x")(at));
  for (std::size_t i = 0; i < slope.size(); ++i) CHECK(slope[i] == Approx(-std::exp(-0.5 * static_cast<double>(i) / 4)));
}

TEST_CASE("reductions, views, products and numbers have derivatives") {
  const Tensor x = (arange(6).to(float64) + 1).reshape({2, 3}), w = arange(3).to(float64);
  const Expression loss("((x @ w + b - 1) ** 2).mean()", {{"x", float64, {2, 3}}, {"w", float64, {3}}});
  const Expression::Arguments at{{"x", x}, {"w", w}, {"b", 0.5}};
  CHECK(loss(at).item<double>() == Approx((7.5 * 7.5 + 16.5 * 16.5) / 2));
  CHECK(loss.derivative("b")(at).item<double>() == Approx(7.5 + 16.5));
  CHECK(loss.derivative("b").derivative("b")(at).item<double>() == Approx(2));
  const Expression part("(x[1:, ::2] * x.T[0, 1]).sum()", {{"x", float64, {2, 3}}});
  CHECK(part({{"x", x}}).item<double>() == Approx(4 * (4 + 6)));
  CHECK(Expression("x.mean()", {{"x", float64, {2, 3}}}).derivative("x")({{"x", x}}).item<double>() == Approx(1));
  // A parameter that nothing reads any more stays one.
  const Expression flat = Expression("3 * k + c").derivative("k");
  CHECK(flat.names().size() == 2);
  CHECK(flat({{"k", 1.0}, {"c", 1.0}}).item<double>() == 3);
  CHECK(Expression("c * 1").derivative("c").derivative("c")({{"c", 4.0}}).item<double>() == 0);
}

TEST_CASE("what is wrong with an expression or its arguments is said") {
  CHECK_THROWS_AS(Expression("a +"), ParseError);
  CHECK_THROWS_AS(Expression("nothing(a)"), ParseError);
  CHECK_THROWS_AS(Expression("[1, 2]"), ValueError);
  CHECK_THROWS_AS(Expression("a", {{"a"}, {"a"}}), ValueError);
  CHECK_THROWS_AS(Expression("a", {{"1a"}}), ValueError);
  CHECK_THROWS_AS(Expression("a", {{"a", float32, {-1}}}), ValueError);
  CHECK_THROWS_AS(Expression("a", {{"a", complex64}}), NotImplementedError);
  CHECK_THROWS_AS(Expression("braze.ir 1\ngraph f(%x: f32[]) {\n  return %x\n}", {{"x"}}), ValueError);
  const Expression sum("a + n", {{"n", int64}});
  CHECK_THROWS_AS(sum.derivative("b"), ValueError);
  CHECK_THROWS_AS(sum.derivative("n"), TypeError);
  CHECK_THROWS_AS(sum({{"a", 1.0}}), ValueError);
  CHECK_THROWS_AS(sum({{"a", 1.0}, {"n", 1}, {"m", 1}}), ValueError);
  CHECK_THROWS_AS(sum({{"a", ones({2}).to(float64)}, {"n", 1}}), ShapeError);
  CHECK_THROWS_AS(sum({{"a", ones({})}, {"n", 1}}), TypeError);
  CHECK_THROWS_AS(Expression("a > 1").derivative("a"), TypeError);
}
