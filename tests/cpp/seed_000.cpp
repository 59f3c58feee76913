// Seed document 000: a tensor note (shape, joining, permute, broadcasting, detach, numpy), as tests/conformance/cases/seed_000.py has it.
#include "braze/nn.h"
#include "tests/cpp/snippet.h"

using namespace braze;
using namespace braze::recorded;

SNIPPET(seed_000, smallest_example) {
  const Tensor x_data = tensor({{1, 2}, {3, 4}});
  return tuple(x_data, str(x_data), x_data.dtype(), x_data.shape());
}

SNIPPET(seed_000, shape_tuple_constructors) {
  const Sizes shape = {2, 3};
  manual_seed(0);
  const Tensor rand_tensor = rand(shape), ones_tensor = ones(shape), zeros_tensor = zeros(shape);
  Paper p;
  p("Random Tensor: \n " + str(rand_tensor) + " \n");
  p("Ones Tensor: \n " + str(ones_tensor) + " \n");
  p("Zeros Tensor: \n " + str(zeros_tensor));
  return p.text;
}

SNIPPET(seed_000, trailing_comma_shape) {
  const Sizes shape = {
      2,
      3,
  };
  return tuple(ones(shape), zeros(shape).shape());
}

SNIPPET(seed_000, device_is_cpu) {
  const Tensor x = ones({2});
  return tuple(x.device().str(), Device(x.device().type).str(), x.cpu(), x.to("cpu"), "device(type='" + str(x.device()) + "')");
}

SNIPPET(seed_000, joining_dim_1) {
  const Tensor tensor = ones({4, 4});
  tensor(slice(), 1) = 0;
  const Tensor t1 = cat({tensor, tensor, tensor}, 1);
  return tuple(t1, str(t1), t1.shape());
}

SNIPPET(seed_000, joining_every_legal_dim) {
  const Tensor x = arange(24).reshape({4, 2, 3});
  std::vector<Value> joined;
  for (int d = -3; d < 3; ++d) joined.emplace_back(cat({x, x}, d));
  return {Value::Kind::list, joined};
}

SNIPPET(seed_000, joining_illegal_dim) {
  const Tensor x = zeros({2, 3});
  return list(raised([&] { cat({x, x}, 2); }, {"[-2, 1]"}), raised([&] { cat({x, x}, -3); }, {"[-2, 1]"}));
}

SNIPPET(seed_000, transpose_split_index) {
  const Tensor x = arange(12).reshape({3, 4});
  return tuple(x.T(), x(0), x(slice(), 0), x(ellipsis, -1), split(x, 2), chunk(x, 2, 1));
}

SNIPPET(seed_000, permute_nchw_to_nhwc) {
  const Tensor images = arange(2 * 3 * 4 * 5).reshape({2, 3, 4, 5});
  const Tensor moved = images.permute({0, 2, 3, 1});
  return tuple(moved, moved.shape(), moved.strides(), moved.is_contiguous());
}

SNIPPET(seed_000, permute_chw_to_hwc) {
  Tensor image = arange(24).reshape({3, 2, 4});
  image = image.permute({1, 2, 0});
  return tuple(image, Value::array(image));
}

SNIPPET(seed_000, batched_matmul_last_two_dims) {
  const Tensor x = arange(24.).reshape({2, 3, 4}), weight = arange(8.).reshape({4, 2});
  const Tensor result = x.matmul(weight);
  return tuple(result, matmul(x, weight), result.shape());
}

SNIPPET(seed_000, matmul_after_permute) {
  const Tensor x = arange(24.).reshape({2, 4, 3}), weight = arange(8.).reshape({4, 2});
  return tuple(raised([&] { x.matmul(weight); }, {"3", "4"}), x.permute({0, 2, 1}).matmul(weight));
}

SNIPPET(seed_000, einsum_instead_of_permute) {
  const Tensor x = arange(24.).reshape({2, 4, 3}), weight = arange(8.).reshape({4, 2});
  return einsum("bkr,kc->brc", {x, weight});
}

SNIPPET(seed_000, functions_with_dim) {
  const Tensor x = arange(6.).reshape({2, 3});
  return tuple(sum(x, 1), softmax(x, 1), cat({x, x}, 0));
}

SNIPPET(seed_000, broadcast_channels_last) {
  const Tensor x = arange(2 * 4 * 4 * 3.).reshape({2, 4, 4, 3}), scale = tensor({1.0, 0.5, 0.2});
  return x * scale;
}

SNIPPET(seed_000, broadcast_channels_first_fails) {
  const Tensor x = ones({2, 3, 4, 4}), scale = tensor({1.0, 0.5, 0.2});
  return raised([&] { mul(x, scale); }, {"4", "3"});
}

SNIPPET(seed_000, broadcast_after_reshape) {
  const Tensor x = ones({2, 3, 4, 4});
  Tensor scale = tensor({1.0, 0.5, 0.2});
  scale = scale.reshape({1, 3, 1, 1});
  return x * scale;
}

SNIPPET(seed_000, permute_not_contiguous) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  Tensor y = x.permute({0, 2, 1});
  const Value before = tuple(y.is_contiguous(), y.strides());
  y = y.contiguous();
  return tuple(before, y.is_contiguous(), y.strides(), y);
}

SNIPPET(seed_000, contiguous_really_copies) {
  const Tensor x = arange(6).reshape({2, 3}), y = x.permute({1, 0}).contiguous();
  y(0, 0) = 100;
  const Tensor same = x.contiguous();
  return tuple(x, y, same.data_ptr() == x.data_ptr());
}

SNIPPET(seed_000, add_and_add_) {
  Tensor x = tensor({1., 2.});
  const Tensor y = x.add(5);
  const Value before = tolist(x);
  const Tensor& z = x.add_(5);
  return tuple(before, y, x, &z == &x);
}

SNIPPET(seed_000, detach_cpu_numpy) {
  const Tensor tensor = braze::tensor({1.0, 2.0}).requires_grad_();
  return tuple(Value::array(tensor.detach().cpu()), Value::pythons_own());
}

SNIPPET(seed_000, detach_shares_storage) {
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = x.detach();
  y.add_(10);
  Paper p;
  p(x);
  return tuple(p.text, true, y.impl() == x.impl());
}

SNIPPET(seed_000, detach_clone_is_apart) {
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = x.detach().clone();
  y.add_(10);
  return tuple(x, y, str(x), y.requires_grad());
}

SNIPPET(seed_000, square_backward) {
  const Tensor x = tensor(2.0).requires_grad_();
  const Tensor y = x * x;
  y.backward();
  Paper p;
  p(x.grad());
  return tuple(p.text, p.text == "tensor(4.)\n");
}

SNIPPET(seed_000, graph_of_two_steps) {
  const Tensor x = tensor(2.0).requires_grad_();
  const Tensor a = x * 3, y = pow(a, 2);
  y.backward();
  Paper p;
  p(x.grad());
  return tuple(p.text, p.text == "tensor(36.)\n");
}

SNIPPET(seed_000, detach_prints) {
  const Tensor x = tensor(2.0).requires_grad_();
  const Tensor a = x * 3, a_detached = a.detach();
  Paper p;
  p(a);
  p(a_detached);
  p(a.requires_grad());
  p(a_detached.requires_grad());
  p(a_detached.grad_fn() ? a_detached.grad_fn().name() : "None");
  return tuple(p.text, p.text == "tensor(6., grad_fn=<MulBackward0>)\ntensor(6.)\nTrue\nFalse\nNone\n");
}

SNIPPET(seed_000, detach_cuts_one_path) {
  const Tensor x = tensor(2.0).requires_grad_();
  const Tensor a = x * 3, b = a.detach();
  const Tensor loss = pow(a, 2) + pow(b, 2);
  loss.backward();
  return tuple(loss, str(x.grad()));
}

SNIPPET(seed_000, permute_nhwc_to_nchw_conv) {
  manual_seed(3);
  const nn::Conv2d conv(3, 2, 3);
  Tensor x = rand({1, 5, 6, 3});
  x = x.permute({0, 3, 1, 2});
  const Tensor output = conv(x);
  return tuple(x.shape(), output.shape(), output);
}

SNIPPET(seed_000, conv_wrong_channel_position) {
  const nn::Conv2d conv(3, 2, 3);
  return raised([&] { conv(rand({1, 8, 8, 4})); });
}
