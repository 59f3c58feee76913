// Gradients through writes, views and cuts. Values as PyTorch 2.15 gives them.
#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

TEST_CASE("autograd writes: a leaf and its views refuse them in grad mode") {
  Tensor x = leaf({1.0, 2.0});
  CHECK(refused([&] { x.add_(1); }) == "a leaf Variable that requires grad is being used in an in-place operation.");
  CHECK(refused([&] { x(slice(0, 1)).add_(1); }) ==
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  CHECK(refused([&] { x(0) = 3; }) == "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  const NoGradGuard off;
  x.add_(1);
  CHECK(floats(x) == Floats{2, 3});
  CHECK(x.is_leaf());
  CHECK(x.requires_grad());
}

TEST_CASE("autograd writes: on intermediates, through views, chains of them") {
  const Tensor x = leaf({1.0, 2.0, 3.0});
  Tensor y = x * 2;
  Tensor v = y(slice(1));
  v.mul_(10);
  CHECK(v.requires_grad());
  y.sum().backward();
  CHECK(floats(x.grad()) == Floats{2, 20, 20});

  const Tensor w = ones({2, 3}).requires_grad_();
  Tensor z = w * 1;
  z.t()(0).mul_(5);
  z(1).add_(z(0).detach());
  z.sum().backward();
  CHECK(floats(w.grad()) == Floats{5, 1, 1, 5, 1, 1});
  CHECK(floats(z) == Floats{5, 1, 1, 10, 2, 2});
}

TEST_CASE("autograd writes: gradients into slices, columns and picked places of a plain tensor") {
  const Tensor x = leaf({2.0, 3.0});
  Tensor z = zeros({4});
  z(slice(1, 3)) = x * 2;
  CHECK(z.requires_grad());
  CHECK(z.grad_fn().name() == "torch::autograd::CopySlices");
  (z * z).sum().backward();
  CHECK(floats(x.grad()) == Floats{16, 24});

  const Tensor c = ones({3}).requires_grad_();
  Tensor m = zeros({3, 2});
  m(slice(), 0).copy_(c * 3);
  (m * tensor({{1.0}, {2.0}, {3.0}})).sum().backward();
  CHECK(floats(c.grad()) == Floats{3, 6, 9});

  const Tensor p = leaf({1.0, 2.0});
  Tensor q = zeros({3});
  const Index at[] = {tensor({1, 1})};
  q.index_put_(at, p * 3, true);
  q.sum().backward();
  CHECK(floats(p.grad()) == Floats{3, 3});
}

TEST_CASE("autograd writes: a constant cuts, and leaves a gradient of zeros") {
  const Tensor x = leaf({1.0, 2.0});
  Tensor y = x * 2;
  y.zero_();
  CHECK(y.requires_grad());
  CHECK(y.grad_fn().name() == "ZeroBackward0");
  y.sum().backward();
  CHECK(floats(x.grad()) == Floats{0, 0});
}

TEST_CASE("autograd writes: without grad mode and through detach they leave the derivative as it was") {
  const Tensor x = leaf({1.0, 2.0});
  Tensor y = x * 2;
  {
    const NoGradGuard off;
    y.mul_(3);
    y.add_(1);
  }
  CHECK(y.requires_grad());
  CHECK(floats(y) == Floats{7, 13});
  y.sum().backward();
  CHECK(floats(x.grad()) == Floats{2, 2});
  Tensor z = x * 2;
  z.detach().mul_(5);
  CHECK(floats(z) == Floats{10, 20});
  z.sum().backward();
  CHECK(floats(x.grad()) == Floats{4, 4});
}

TEST_CASE("autograd writes: a value that was read before a write keeps its gradient") {
  const Tensor x = leaf({1.0, 2.0});
  Tensor y = x * 2;
  const Tensor z = y * y;
  y.add_(1);
  z.sum().backward();
  CHECK(floats(x.grad()) == Floats{8, 16});
}

TEST_CASE("autograd writes: x.data is unnoticed, as in PyTorch") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = x * x;
  tensor_data(x).mul_(10);
  y.sum().backward();
  CHECK(floats(y) == Floats{1, 4});
  CHECK(floats(x.grad()) == Floats{20, 40});
}

TEST_CASE("autograd writes: memory that is handed out stays differentiable") {
  const Tensor x = leaf({1.0, 2.0});
  const Tensor y = x * 3, c = x.clone();
  CHECK(y.detach().data_ptr() != nullptr);
  CHECK(c.data_ptr() != x.data_ptr());
  CHECK(y.requires_grad());
  CHECK(c.requires_grad());
  (y * c).sum().backward();
  CHECK(floats(x.grad()) == Floats{6, 12});
}

TEST_CASE("autograd writes: views of a leaf made without grad mode are constants") {
  Tensor x = leaf({1.0, 2.0});
  Tensor v;
  {
    const NoGradGuard off;
    v = x(slice(0, 1));
  }
  CHECK_FALSE(v.requires_grad());
  CHECK_FALSE((v * 2).requires_grad());
  CHECK(refused([&] {
          v.add_(1);
        }).starts_with("A view was created in no_grad mode and is being modified inplace with grad mode enabled."));
  CHECK(refused([&] {
          Tensor y = x * 2;
          y(slice(0, 1)).detach_();
        }).starts_with("Can't detach views in-place."));
}
