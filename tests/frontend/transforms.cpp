// Function transforms: against loops over elements, finite differences and PyTorch's values.
#include <cmath>

#include "braze/autograd.h"
#include "braze/braze.h"
#include "braze/func.h"
#include "frontend/engine/engine.h"
#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;

namespace {

bool near(const Tensor& a, const Tensor& b, double tolerance = 1e-6) {
  if (a.sizes() != b.sizes()) return false;
  return a.numel() == 0 || allclose(a.to(float64), b.to(float64), tolerance, tolerance);
}

const Tensor a = tensor({0.5, -1.5, 2.0}), b = tensor({2.0, 0.5, -1.0}), m = tensor({{1., -2., 3.}, {0.5, 4., -1.}});

}  // namespace

TEST_CASE("grad, of one argument or of several, and its value") {
  CHECK(near(func::grad([](const Tensor& x) { return (x * x).sum(); })(a), 2 * a));
  CHECK(near(func::grad([](const Tensor& x, const Tensor& y) { return (x * y).sum(); }, 1)(a, b), a));
  const Tensor both[] = {a, b};
  const std::size_t asked[] = {0, 1};
  const auto [gradients, results] =
      func::grad_and_value([](std::span<const Tensor> x) { return func::Tensors{(x[0] * x[1] * x[1]).sum()}; }, both, asked);
  CHECK(near(gradients[0], b * b));
  CHECK(near(gradients[1], 2 * a * b));
  CHECK(near(results[0], (a * b * b).sum()));
  CHECK_FALSE(gradients[0].requires_grad());
  CHECK_FALSE(results[0].requires_grad());
  // d4/dx4 of x^4
  const auto f = [](const Tensor& x) { return x * x * x * x; };
  CHECK(near(func::grad(func::grad(func::grad(func::grad(f))))(tensor(2.0)), tensor(24.0)));
  // a constant function
  CHECK(near(func::grad([](const Tensor&) { return tensor(1.0); })(a), zeros({3})));
}

TEST_CASE("vjp pulls as often as it is asked; jvp pushes") {
  const Tensor argument[] = {a};
  const func::Pullback back = func::vjp([](std::span<const Tensor> x) { return func::Tensors{x[0].sin()}; }, argument);
  CHECK(near(back.results[0], a.sin()));
  for (const Tensor& cotangent : {b, a}) {
    const Tensor list[] = {cotangent};
    CHECK(near(back.pull(list)[0], cotangent * a.cos()));
  }
  const Tensor tangent[] = {b};
  const func::Pushed pushed =
      func::jvp([](std::span<const Tensor> x) { return func::Tensors{x[0].sin(), x[0].detach() * x[0], (x[0] > 0).to(float32)}; },
                argument, tangent);
  CHECK(near(pushed.tangents[0], b * a.cos()));
  CHECK(near(pushed.tangents[1], b * a));
  CHECK(near(pushed.tangents[2], zeros({3})));
  CHECK(near(pushed.results[1], a * a));
}

TEST_CASE("jacobians and hessians, without a loop") {
  const auto square = [](const Tensor& x) { return x * x; };
  CHECK(near(func::jacrev(square)(a), diag(2 * a)));
  CHECK(near(func::jacfwd(square)(a), diag(2 * a)));
  const auto product = [](const Tensor& x) { return matmul(m, x); };
  CHECK(near(func::jacrev(product)(b), m));
  CHECK(near(func::jacfwd(product)(b), m));
  CHECK(near(func::hessian([](const Tensor& x) { return (x * x * x).sum(); })(a), diag(6 * a)));
  const auto f = [](const Tensor& x) { return (matmul(m, x).tanh() * matmul(m, x)).sum(); };
  const Tensor h = func::hessian(f)(b);
  CHECK(near(h, h.t(), 1e-5));
  CHECK(near(h, func::jacrev(func::jacrev(f))(b), 1e-5));
  CHECK(func::jacrev(square)(zeros({2, 3})).sizes() == Sizes{2, 3, 2, 3});
}

TEST_CASE("vmap: dims in and out, what is not mapped, what is captured") {
  const auto sum = [](const Tensor& x, const Tensor& y) { return x + y; };
  CHECK(near(func::vmap(sum, {0, std::nullopt})(m, a), m + a));
  CHECK(near(func::vmap(dot, {1, 1})(m, m), (m * m).sum(0)));
  CHECK(near(func::vmap([](const Tensor& x, const Tensor& y) { return x * y; }, {1, 0})(m, a), m.t() * a.unsqueeze(1)));
  CHECK(near(func::vmap([](const Tensor& x) { return x * 2; }, {}, 1)(m), 2 * m.t()));
  const auto outer = [](const Tensor& x, const Tensor& y) { return x * y; };
  CHECK(near(func::vmap(func::vmap(outer, {std::nullopt, 0}), {0, std::nullopt})(a, b), a.unsqueeze(1) * b));
  CHECK(near(func::vmap([](const Tensor& x) { return matmul(m, x); })(m), matmul(m, m.t()).t()));
  CHECK(near(func::vmap([](const Tensor&) { return b * 1; })(m), b.expand({2, 3})));
  // per-sample gradients
  const auto loss = [](const Tensor& w, const Tensor& x, const Tensor& y) { return (dot(w, x) - y).square(); };
  const Tensor y = tensor({1.0, 2.0});
  const Tensor got = func::vmap(func::grad(loss), {std::nullopt, 0, 0})(b, m, y);
  for (int i = 0; i < 2; ++i) CHECK(near(got.select(0, i), 2 * (dot(b, m.select(0, i)) - y.select(0, i)) * m.select(0, i)));
  // writes to what the function made itself
  const auto written = [](const Tensor& x) {
    Tensor z = zeros({4});
    z(slice(0, 3)) = x * 3;
    z(1) = x.sum();
    return z;
  };
  const Tensor z = func::vmap(written)(m);
  for (int i = 0; i < 2; ++i) CHECK(near(z.select(0, i), written(m.select(0, i))));
}

TEST_CASE("vmap records as much for two elements as for two thousand") {
  const auto f = [](const Tensor& x) { return ((x * x).sum() + x.exp()).tanh(); };
  const auto recorded = [&](std::int64_t n) {
    const Tensor x = ones({n, 5});
    const std::uint64_t before = engine::statistics().recorded;
    const Tensor y = func::vmap(f)(x);
    const std::uint64_t count = engine::statistics().recorded - before;
    CHECK(near(y, f(ones({5})).expand({n, 5})));
    return count;
  };
  CHECK(recorded(2) == recorded(2000));
}

TEST_CASE("transforms inside of autograd: captured tensors and arguments that require grad") {
  const Tensor w = tensor({1.0, 2.0, 3.0}).requires_grad_(), x = tensor({0.5, -1.0, 2.0}).requires_grad_();
  const Tensor g = func::grad([&](const Tensor& v) { return (v * v * w).sum(); })(x);
  CHECK(g.requires_grad());
  g.sum().backward();
  CHECK(near(w.grad(), 2 * x.detach()));
  CHECK(near(x.grad(), 2 * w.detach()));
  const Tensor mapped = func::vmap([&](const Tensor& v) { return (v * w).sum(); })(m);
  mapped.sum().backward();
  CHECK(near(w.grad(), 2 * x.detach() + m.sum(0)));
  {
    const NoGradGuard guard;
    CHECK_FALSE(func::vmap([&](const Tensor& v) { return v * w; })(m).requires_grad());
    CHECK(near(func::grad([](const Tensor& v) { return (v * v).sum(); })(a), 2 * a));
  }
  // what is cut inside stays cut
  CHECK(near(func::grad([](const Tensor& v) { return (v.detach() * v).sum(); })(a), a));
  CHECK(near(func::grad(func::grad([](const Tensor& v) { return (v.detach() * v * v).sum(); }))(tensor(3.0)), tensor(6.0)));
  CHECK(near(func::vmap(func::grad([](const Tensor& v) { return (v.detach() * v).sum(); }))(m), m));
}

namespace {

enum class Which { vmap, grad, jvp };

// x of n elements to a scalar (grad) or as many elements.
struct Nest {
  func::TensorFunction f;
  bool scalar;
};

const Tensor direction = tensor({0.3, -0.7, 0.2}, {float64});

Nest apply(Which which, const Nest& nest) {
  if (which == Which::vmap) return {func::vmap(nest.f), false};
  const func::TensorFunction f = nest.f;
  if (which == Which::grad) return {func::grad([f](const Tensor& x) { return (f(x) * (f(x) + 1)).sum(); }), false};
  return {func::TensorFunction::of([f](std::span<const Tensor> x) {
            const Tensor tangent[] = {direction.expand(x[0].sizes()) * x[0].cos()};
            return func::jvp(f.untyped(), x, tangent).tangents;
          }),
          nest.scalar};
}

// The same by a loop, or by differences.
Tensor reference(Which which, const func::TensorFunction& f, const Tensor& x) {
  if (which == Which::vmap) {
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < x.size(0); ++i) rows.push_back(f(x.select(0, i)));
    return stack(rows);
  }
  constexpr double h = 1e-6;
  if (which == Which::jvp) {
    const Tensor t = direction.expand(x.sizes()) * x.cos();
    return (f(x + h * t) - f(x - h * t)) / (2 * h);
  }
  const auto loss = [&](const Tensor& at) { return (f(at) * (f(at) + 1)).sum(); };
  Tensor out = zeros_like(x);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    Tensor step = zeros({x.numel()}, {float64});
    step(i) = h;
    step = step.reshape(x.sizes());
    out.view({-1})(i) = (loss(x + step) - loss(x - step)) / (2 * h);
  }
  return out;
}

}  // namespace

TEST_CASE("all 27 nests of grad, jvp and vmap, three deep") {
  const Tensor rows = tensor({{0.4, -0.3, 0.9}, {1.1, 0.2, -0.8}}, {float64});
  for (const Which outer : {Which::vmap, Which::grad, Which::jvp})
    for (const Which middle : {Which::vmap, Which::grad, Which::jvp})
      for (const Which inner : {Which::vmap, Which::grad, Which::jvp}) {
        CAPTURE(static_cast<int>(outer), static_cast<int>(middle), static_cast<int>(inner));
        const Nest base{func::TensorFunction([](const Tensor& x) { return x.sin() * x.sum(); }), false};
        const Nest two = apply(middle, apply(inner, base));
        const Nest three = apply(outer, two);
        Tensor x = rows;
        const int maps = (outer == Which::vmap) + (middle == Which::vmap) + (inner == Which::vmap);
        if (maps == 2) x = stack({rows, rows * 0.5});
        if (maps == 3) x = stack({stack({rows, rows * 0.5}), stack({rows - 0.1, rows * 0.7})});
        CHECK(near(three.f(x), reference(outer, two.f, x), 1e-5));
      }
}

TEST_CASE("transforms: what is refused, and how it is said") {
  CHECK_THROWS_WITH(func::grad([](const Tensor& x) { return x * 1; })(a), Catch::Contains("return a scalar tensor"));
  CHECK_THROWS_WITH(func::grad([](const Tensor& x) { return x.sum(); })(tensor({1, 2})), Catch::Contains("floating point"));
  CHECK_THROWS_AS(func::vmap([](const Tensor& x) { return x; }, {std::nullopt})(a), ValueError);
  CHECK_THROWS_WITH(func::vmap([](const Tensor& x, const Tensor& y) { return x + y; })(a, m),
                    Catch::Contains("same size in the mapped dimension, got sizes [3, 2]"));
  CHECK_THROWS_AS(func::vmap([](const Tensor& x) { return x; }, {2})(a), ValueError);
  CHECK_THROWS_AS(func::vmap([](const Tensor& x) { return x; }, {}, 3)(a), ValueError);
  CHECK_THROWS_WITH(func::vmap([](const Tensor& x) { return x * x.item<float>(); })(a),
                    Catch::Contains("vmap: It looks like you're calling .item()"));
  CHECK(near(func::vmap([](const Tensor& x) { return x * 2; })(a), 2 * a));  // and nothing is left behind
}
