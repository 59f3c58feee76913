// Functions with a derivative of their own, whole derivatives, and checks. Values as PyTorch 2.15 gives them.
#include <cmath>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::Context& c, const Tensor& x) {
    c.save_for_backward({x});
    return x * x * x;
  }
  static Tensor backward(autograd::Context& c, const Tensor& gradient) {
    const Tensor& x = c.saved_tensors()[0];
    return gradient * 3 * x * x;
  }
};

struct SumAndProduct : autograd::Function<SumAndProduct> {
  static std::vector<Tensor> forward(autograd::Context& c, const Tensor& a, const Tensor& b) {
    c.save_for_backward({a, b});
    return {a + b, a * b};
  }
  static std::vector<Tensor> backward(autograd::Context& c, std::span<const Tensor> gradients) {
    const Tensor &a = c.saved_tensors()[0], &b = c.saved_tensors()[1];
    return {gradients[0] + gradients[1] * b, gradients[0] + gradients[1] * a};
  }
};

struct TooFew : autograd::Function<TooFew> {
  static Tensor forward(autograd::Context&, const Tensor& a, const Tensor& b) { return a + b; }
  static Tensor backward(autograd::Context&, const Tensor& gradient) { return gradient; }
};

}  // namespace

TEST_CASE("autograd functions: a derivative of one's own, differentiated again") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = Cube::apply(x);
  CHECK(y.grad_fn().name() == "CubeBackward");
  CHECK(floats(y) == Floats{1, 8});
  const Tensor g = autograd::grad(y.sum(), x, {.create_graph = true});
  CHECK(floats(g) == Floats{3, 12});
  CHECK(floats(autograd::grad(g.sum(), x)) == Floats{6, 12});
  y.sum().backward();  // create_graph had kept the graph
  CHECK(refused([&] { y.sum().backward(); }).starts_with("Trying to backward through the graph a second time"));
  CHECK_FALSE(Cube::apply(tensor({1.0})).requires_grad());
}

TEST_CASE("autograd functions: several results, of which one is used, and gradients of the wrong number") {
  const Tensor a = leaf({1.0, 2.0}), b = leaf({3.0, 4.0});
  const std::vector<Tensor> both = SumAndProduct::apply(a, b);
  both[1].sum().backward();
  CHECK(floats(a.grad()) == Floats{3, 4});
  CHECK(floats(b.grad()) == Floats{1, 2});
  CHECK(refused([&] { TooFew::apply(a, b).sum().backward(); }) ==
        "function TooFewBackward returned an incorrect number of gradients (expected 2, got 1)");
}

TEST_CASE("autograd functions: Jacobians, Hessians and products with them") {
  const Tensor x = tensor({0.5, -1.5, 2.0}), v = tensor({2.0, 0.5, -1.0});
  CHECK(floats(autograd::functional::jacobian([](const Tensor& x) { return x * x; }, x)) == Floats{1, 0, 0, 0, -3, 0, 0, 0, 4});
  CHECK(floats(autograd::functional::hessian([](const Tensor& x) { return pow(x, 3).sum(); }, x)) ==
        Floats{3, 0, 0, 0, -9, 0, 0, 0, 12});
  const auto square = [](const Tensor& x) { return x * x; };
  CHECK(floats(autograd::functional::vjp(square, x, v).second) == Floats{2, -1.5, -4});
  CHECK(floats(autograd::functional::jvp(square, x, v).second) == Floats{2, -1.5, -4});
  CHECK(floats(autograd::functional::hvp([](const Tensor& x) { return pow(x, 3).sum(); }, x, v).second) == Floats{6, -4.5, -12});
}

namespace {

// Its derivatives are not the ops': they tell which were asked.
struct Odd : autograd::Function<Odd> {
  static Tensor forward(autograd::Context& c, const Tensor& x) {
    c.save_for_backward({x});
    return sin(x);
  }
  static Tensor backward(autograd::Context& c, const Tensor& gradient) { return gradient * c.saved_tensors()[0] * 10; }
  static Tensor jvp(autograd::Context& c, const Tensor& tangent) { return tangent * c.saved_tensors()[0] * 100; }
};

struct NoJvp : autograd::Function<NoJvp> {
  static Tensor forward(autograd::Context&, const Tensor& x) { return x * 2; }
  static Tensor backward(autograd::Context&, const Tensor& gradient) { return gradient * 2; }
};

}  // namespace

TEST_CASE("autograd functions: function transforms ask them, not their ops") {
  const Tensor x = tensor({1.0, 2.0}), v = tensor({1.0, 3.0}), rows = tensor({1.0, 2.0, 3.0, 4.0}).reshape({2, 2});
  const func::Function odd = [](std::span<const Tensor> t) { return std::vector{Odd::apply(t[0])}; };
  const func::Function slope = [&](std::span<const Tensor> t) {
    return func::grad_and_value([](std::span<const Tensor> s) { return std::vector{Odd::apply(s[0]).sum()}; }, t).gradients;
  };
  const auto pushed = [](const func::Function& f, const Tensor& at, const Tensor& along) {
    return floats(func::jvp(f, std::span(&at, 1), std::span(&along, 1)).tangents[0]);
  };
  const auto mapped = [&](const func::Function& f) {
    return func::Function([f](std::span<const Tensor> t) { return func::vmap(f, t); });
  };
  CHECK(pushed(odd, x, v) == Floats{100, 600});
  CHECK(floats(slope(std::span(&x, 1))[0]) == Floats{10, 20});
  CHECK(pushed(slope, x, v) == Floats{10, 30});
  CHECK(pushed(mapped(odd), rows, rows) == Floats{100, 400, 900, 1600});
  CHECK(floats(mapped(slope)(std::span(&rows, 1))[0]) == Floats{10, 20, 30, 40});
  const Tensor leaves = rows.clone().requires_grad_();
  mapped(odd)(std::span(&leaves, 1))[0].sum().backward();
  CHECK(floats(leaves.grad()) == Floats{10, 20, 30, 40});
  const func::Function none = [](std::span<const Tensor> t) { return std::vector{NoJvp::apply(t[0])}; };
  CHECK(refused<NotImplementedError>([&] {
          pushed(none, x, v);
        }).starts_with("You must implement the jvp function for custom autograd.Function to use it with forward mode AD."));
}

TEST_CASE("autograd functions: gradcheck tells right derivatives from wrong ones") {
  const Tensor x = rand({2, 3}, {float64}).requires_grad_(), w = rand({3}, {float64}).requires_grad_();
  const Tensor in[] = {x, w};
  CHECK(autograd::gradcheck([](std::span<const Tensor> t) { return std::vector{tanh(t[0].matmul(t[1]))}; }, in));
  CHECK(autograd::gradgradcheck([](std::span<const Tensor> t) { return std::vector{tanh(t[0].matmul(t[1]))}; }, in));
  // A function that claims twice its derivative.
  const auto wrong = [](std::span<const Tensor> t) {
    return autograd::with_gradient(t, std::vector{t[0].detach() * 1}, {.name = "Wrong", .backward = [](std::span<const Tensor> g) {
                                                                         return std::vector<Tensor>{g[0] * 2, {}};
                                                                       }});
  };
  CHECK(refused([&] { autograd::gradcheck(wrong, in); }).starts_with("Jacobian mismatch for output 0 with respect to input 0"));
  CHECK_FALSE(autograd::gradcheck(wrong, in, {.raise_exception = false}));
}

TEST_CASE("autograd functions: anomaly detection names the first op whose gradient is not finite, and its line") {
  const autograd::DetectAnomalyGuard guard;
  const Tensor x = leaf({0.0, 4.0});
  const int line = __LINE__ + 1;
  const Tensor y = sqrt(x);
  const std::string why = refused([&] { (y * 0).sum().backward(); });
  CHECK(why.find("Function 'SqrtBackward0' returned nan values in its 0th output.") == 0);
  CHECK(why.find("autograd_functions.cpp:" + std::to_string(line)) != std::string::npos);
}

TEST_CASE("gradients where a cotangent or a slope is huge: softmax beside a large one, binary cross entropy at 0 and 1") {
  const Tensor x = leaf({-20.0, 0.0, 1.0});
  softmax(x, 0).log().sum().backward();
  close(x.grad(), {1.0f, 0.19317572f, -1.1931758f});

  const Tensor p = leaf({0.0, 1.0, 0.0, 1.0, 1e-13});
  nn::functional::binary_cross_entropy(p, tensor({0.0, 1.0, 1.0, 0.0, 1.0}, {float32}), {}, "sum").backward();
  close(p.grad(), {0, 0, -1e12f, 1e12f, -1e12f});
}

TEST_CASE("an activation of a number") {
  CHECK(nn::functional::gelu(1.5).item<float>() == Approx(1.3997889));
  CHECK(nn::functional::gelu(1.5, "tanh").item<float>() == Approx(1.3995715));
}
