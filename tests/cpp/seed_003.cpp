// Seed document 003: tensor attributes, leaf tensors, the mark that asks for gradients, view and reshape, contiguity, as
// tests/conformance/cases/seed_003.py has it.
#include <algorithm>

#include "tests/cpp/snippet.h"

using namespace braze;
using namespace braze::recorded;

namespace {

Tensor make_x() { return tensor({{1., 2., 3.}, {4., 5., 6.}}).requires_grad_(); }

Value with_grad_marks(const Tensor& x) { return tuple(x, x.requires_grad(), x.is_leaf()); }

}  // namespace

SNIPPET(seed_003, attr_data) {
  const Tensor x = make_x(), data = x.detach();
  return tuple(data, data.requires_grad(), data.data_ptr() == x.data_ptr());
}

SNIPPET(seed_003, attr_dtype) {
  const Tensor x = make_x();
  return tuple(x.dtype(), str(x.dtype()), str(int64), x.dtype() == float32);
}

SNIPPET(seed_003, attr_shape) {
  const Tensor x = make_x();
  return tuple(x.shape(), x.sizes(), x.size(0), x.size(-1), x.shape()[1], str(x.shape()), x.shape() == Sizes{2, 3},
               x.shape().size());
}

SNIPPET(seed_003, attr_device) {
  const Tensor x = make_x();
  return tuple(str(x.device()), Device(x.device().type).str(), x.device() == Device("cpu"), x.is_cuda());
}

SNIPPET(seed_003, attr_requires_grad) {
  const Tensor x = make_x();
  Tensor y = ones({2});
  y.requires_grad_(true);
  return tuple(x.requires_grad(), y.requires_grad(), y);
}

SNIPPET(seed_003, more_ndim) {
  const Tensor x = make_x();
  return tuple(x.ndim(), x.dim(), tensor(1.).ndim());
}

SNIPPET(seed_003, more_numel) { return tuple(make_x().numel(), zeros({0, 3}).numel(), tensor(5).numel()); }

SNIPPET(seed_003, more_stride) {
  const Tensor x = make_x();
  return tuple(x.strides(), x.stride(0), x.T().strides(), zeros({2, 3, 4}).strides());
}

SNIPPET(seed_003, more_storage) {
  const TypedStorage s = make_x().detach().storage();
  std::vector<Value> elements;
  for (std::int64_t i = 0; i < s.size(); ++i) elements.emplace_back(s[i].to_double());
  return tuple(s.size(), Value(Value::Kind::list, elements), s[1].to_double());
}

SNIPPET(seed_003, more_detach) {
  const Tensor d = make_x().detach();
  return tuple(d, d.requires_grad(), d.is_leaf());
}

SNIPPET(seed_003, more_item) {
  const Tensor x = make_x();
  return tuple(tensor(2.5).item<double>(), tensor({{7}}).item<std::int64_t>(), tensor(true).item<bool>(),
               raised([&] { x.item<double>(); }));
}

SNIPPET(seed_003, more_numpy) {
  const Tensor x = make_x().detach();
  return tuple(Value::array(x), std::string(info(x.dtype()).torch_name));
}

SNIPPET(seed_003, more_squeeze) {
  const Tensor y = zeros({1, 2, 1, 3});
  return tuple(y.squeeze().shape(), y.squeeze(0).shape(), y.squeeze(1).shape(), y.squeeze(-2).shape(), y.unsqueeze(-1).shape());
}

SNIPPET(seed_003, more_cpu) {
  const Tensor x = make_x();
  return tuple(x.cpu().impl() == x.impl(), x.cpu());
}

SNIPPET(seed_003, make_tensor) { return with_grad_marks(tensor({1, 2, 3})); }
SNIPPET(seed_003, make_arange) { return with_grad_marks(arange(0, 10, 2)); }
SNIPPET(seed_003, make_linspace) { return with_grad_marks(linspace(0, 1, 5)); }
SNIPPET(seed_003, make_zeros) { return with_grad_marks(zeros({3, 3})); }
SNIPPET(seed_003, make_ones) { return with_grad_marks(ones({3, 3})); }
SNIPPET(seed_003, make_full) {
  const Tensor x = full({2, 2}, 7);
  return tuple(x, x.dtype(), x.requires_grad(), x.is_leaf());
}
SNIPPET(seed_003, make_eye) { return with_grad_marks(eye(3)); }
SNIPPET(seed_003, make_empty) {
  const Tensor x = empty({2, 3});
  return tuple(x.shape(), x.dtype(), x.requires_grad(), x.is_leaf());
}
SNIPPET(seed_003, make_rand) {
  manual_seed(1);
  return with_grad_marks(rand({3, 3}));
}
SNIPPET(seed_003, make_randn) {
  manual_seed(1);
  return with_grad_marks(randn({3, 3}));
}
SNIPPET(seed_003, make_randint) {
  manual_seed(1);
  return with_grad_marks(randint(0, 10, {3, 3}));
}
SNIPPET(seed_003, make_randperm) {
  manual_seed(1);
  return with_grad_marks(randperm(10));
}
SNIPPET(seed_003, make_normal) {
  manual_seed(1);
  return with_grad_marks(normal(0, 1, {3, 3}));
}
SNIPPET(seed_003, make_from_numpy) {
  static std::int64_t memory[] = {1, 2, 3};  // the result shares it
  return with_grad_marks(from_blob(memory, {3}, int64));
}
SNIPPET(seed_003, make_clone) {
  const Tensor x = tensor({1, 2, 3}).clone();
  return tuple(x, clone(x), x.requires_grad(), x.is_leaf());
}
SNIPPET(seed_003, make_randint_like) {
  manual_seed(1);
  return with_grad_marks(randint_like(ones({3, 3}), 0, 10));
}
SNIPPET(seed_003, make_zeros_like) { return with_grad_marks(zeros_like(ones({3, 3}))); }
SNIPPET(seed_003, make_ones_like) { return with_grad_marks(ones_like(ones({3, 3}))); }
SNIPPET(seed_003, make_full_like) { return with_grad_marks(full_like(ones({3, 3}), 7)); }
SNIPPET(seed_003, make_empty_like) {
  const Tensor x = empty_like(ones({3, 3}));
  return tuple(x.shape(), x.dtype(), x.requires_grad(), x.is_leaf());
}
SNIPPET(seed_003, default_ones) { return tuple(ones({5}).requires_grad(), randn({3}).requires_grad()); }
SNIPPET(seed_003, default_from_numpy) {
  std::int64_t memory[] = {1, 2, 3};
  return from_blob(memory, {3}, int64).requires_grad();
}
SNIPPET(seed_003, default_through_op) {
  const Tensor x = ones({5}), y = x * 2;
  return tuple(x.requires_grad(), y.requires_grad());
}
SNIPPET(seed_003, integer_with_grad_raises) {
  return raised([] { tensor({1, 2, 3}).requires_grad_(); }, {"floating point"});
}
SNIPPET(seed_003, integer_set_grad_raises) {
  Tensor x = tensor({1, 2});
  return raised([&] { x.requires_grad_(true); }, {"floating point"});
}

SNIPPET(seed_003, size_mismatch_as_written) {
  const Tensor x = ones({5}), y = tensor({1, 2, 3});
  return raised([&] { add(x, y); }, {"5", "3"});
}

SNIPPET(seed_003, seven_ways_6_detach) {
  manual_seed(5);
  const Tensor v = randn({3}).requires_grad_().detach();
  return tuple(v.requires_grad(), v);
}

SNIPPET(seed_003, view_reshape_example) {
  Paper p;
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  p("原始张量 x:");
  p(x);
  p("x 的形状:", x.shape());
  const Tensor y = x.view({3, 2});
  p("\n使用 view 后的张量 y:");
  p(y);
  p("y 的形状:", y.shape());
  const Tensor z = x.reshape({3, 2});
  p("\n使用 reshape 后的张量 z:");
  p(z);
  p("z 的形状:", z.shape());
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}).t();
  p("\n非连续张量 a:");
  p(a);
  p("a 是否连续:", a.is_contiguous());
  return p.text;
}

SNIPPET(seed_003, view_error_is_runtime_error) {
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}).t();
  const std::string why = message_of([&] { a.view({3, 2}); });
  if (why == "no error") return tolist(a.view({3, 2}));
  return list(why.find("view size is not compatible") != why.npos, why.find("reshape") != why.npos);
}

SNIPPET(seed_003, view_error_flat) {
  const Tensor y = tensor({{1, 2, 3}, {4, 5, 6}}).t();
  return raised([&] { y.view({6}); }, {"view", "stride"});
}

SNIPPET(seed_003, reshape_of_non_contiguous) {
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}).t();
  const Tensor c = a.reshape({3, 2}), d = a.reshape({2, 3});
  return tuple(c, str(c), c.shape(), d);
}

SNIPPET(seed_003, contiguity_example) {
  Paper p;
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  p("x 是否连续:", x.is_contiguous());
  const Tensor y = x.t();
  p("\n转置后的张量 y:");
  p(y);
  p("y 是否连续:", y.is_contiguous());
  const Tensor y_cont = y.contiguous();
  p(y_cont);
  p("y_cont 是否连续:", y_cont.is_contiguous());
  const Tensor z = y_cont.view({6});
  p("\n对连续张量使用 view 的结果 z:");
  p(z);
  const Tensor w = y.reshape({6});
  p("\n对非连续张量使用 reshape 的结果 w:");
  p(w);
  return p.text;
}

SNIPPET(seed_003, view_error_in_full) {
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}).t();
  return tuple(message_of([&] { a.view({6}); }), a.view({3, 2}).shape(), message_of([] { zeros({2, 3}).view({4}); }));
}
