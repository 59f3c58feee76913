// Seed document 003: tensor attributes, leaf tensors, the mark that asks for gradients, view and reshape, contiguity, as
// tests/conformance/cases/seed_003.py has it.
#include <algorithm>

#include "braze/nn.h"
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

// ---- gradients ----

SNIPPET(seed_003, attr_grad) {
  const Tensor x = make_x();
  const bool before = x.grad().defined();
  (x * 2).sum().backward();
  return tuple(before ? Value(x.grad()) : Value(), x.grad());
}

SNIPPET(seed_003, attr_grad_fn) {
  const Tensor x = make_x(), y = x * 2;
  return tuple(x.grad_fn() ? Value("made") : Value(), y.grad_fn().name(), y.grad_fn().name());
}

SNIPPET(seed_003, attr_is_leaf) {
  const Tensor x = make_x();
  return tuple(x.is_leaf(), (x * 2).is_leaf(), ones({2}).is_leaf());
}

SNIPPET(seed_003, more_T) {
  const Tensor x = make_x();
  return tuple(x.T(), x.T().shape(), x.T().strides());
}

SNIPPET(seed_003, more_contiguous) {
  const Tensor x = make_x();
  return tuple(x.T().contiguous(), x.T().is_contiguous(), x.T().contiguous().is_contiguous());
}

SNIPPET(seed_003, more_to_device) {
  const Tensor x = make_x(), same = x.to(Device("cpu"));
  return tuple(same, same, same.impl() == x.impl(), x.to(float64));
}

SNIPPET(seed_003, more_clone) {
  const Tensor x = make_x(), c = x.clone();
  const bool same_memory = c.data_ptr() == x.data_ptr();
  return tuple(c, c.requires_grad(), c.is_leaf(), same_memory);
}

SNIPPET(seed_003, more_view_reshape) {
  const Tensor x = make_x();
  return tuple(x.view({3, 2}), x.reshape({-1}), x.view({-1, 2}), x.reshape({1, 6}));
}

SNIPPET(seed_003, more_backward) {
  const Tensor x = make_x();
  pow(x, 2).sum().backward();
  return x.grad();
}

SNIPPET(seed_003, more_retain_grad) {
  const Tensor x = make_x(), y = x * 2;
  y.retain_grad();
  (y * y).sum().backward();
  return tuple(y.grad(), x.grad(), y.retains_grad());
}

SNIPPET(seed_003, more_no_retain_grad) {
  const Tensor x = make_x(), y = x * 2;
  (y * y).sum().backward();
  return y.grad().defined() ? Value(y.grad()) : Value();
}

SNIPPET(seed_003, more_register_hook) {
  const Tensor x = make_x(), y = x * 2;
  std::vector<Value> seen;
  y.register_hook([&](const Tensor& g) {
    seen.push_back(tolist(g));
    return Tensor();
  });
  y.sum().backward();
  return Value(Value::Kind::list, seen);
}

SNIPPET(seed_003, more_register_hook_changes) {
  const Tensor x = make_x(), y = x * 2;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.sum().backward();
  return x.grad();
}

SNIPPET(seed_003, leaf_example) {
  Paper p;
  const Tensor x = randn({3});
  p("x is leaf:", x.is_leaf());
  p("x requires grad:", x.requires_grad());
  const Tensor y = randn({3}).requires_grad_();
  p("y is leaf:", y.is_leaf());
  p("y requires grad:", y.requires_grad());
  const Tensor z = x + y;
  p("z is leaf:", z.is_leaf());
  p("z requires grad:", z.requires_grad());
  const Tensor w = z.detach();
  p("w is leaf:", w.is_leaf());
  p("w requires grad:", w.requires_grad());
  return p.text;
}

SNIPPET(seed_003, detach_example) {
  Paper p;
  const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_();
  const Tensor y = x * 2, y_detach = y.detach();
  p("y is leaf:", y.is_leaf());
  p("y_detach is leaf:", y_detach.is_leaf());
  p("y requires grad:", y.requires_grad());
  p("y_detach requires grad:", y_detach.requires_grad());
  return tuple(p.text, y, y_detach);
}

SNIPPET(seed_003, requires_grad_example) {
  Paper p;
  const Tensor x = tensor({1.0, 2.0, 3.0});
  p("x is leaf:", x.is_leaf());
  const Tensor y = tensor({1.0, 2.0, 3.0}).requires_grad_();
  p("y is leaf:", y.is_leaf());
  const Tensor z = y * 2;
  p("z is leaf:", z.is_leaf());
  const Tensor z_detach = z.detach();
  p("z_detach is leaf:", z_detach.is_leaf());
  return p.text;
}

namespace {

struct Example {
  Tensor x, y, z;
};

Example is_grad_on_example() {
  manual_seed(5);
  const Tensor x = randn({3}).requires_grad_();
  return {x, zeros({3}), x * 2};
}

}  // namespace

SNIPPET(seed_003, seven_ways_1_requires_grad) {
  const auto [x, y, z] = is_grad_on_example();
  return tuple(x.requires_grad(), y.requires_grad(), z.requires_grad());
}

SNIPPET(seed_003, seven_ways_2_is_leaf) {
  const auto [x, y, z] = is_grad_on_example();
  return tuple(x.is_leaf(), y.is_leaf(), z.is_leaf());
}

SNIPPET(seed_003, seven_ways_3_grad_fn) {
  const auto [x, y, z] = is_grad_on_example();
  return tuple(x.grad_fn() ? "made" : "None", y.grad_fn() ? "made" : "None", "<" + z.grad_fn().name());
}

SNIPPET(seed_003, seven_ways_4_is_grad_enabled) { return is_grad_enabled(); }

SNIPPET(seed_003, seven_ways_5_no_grad) {
  const auto [x, y, z] = is_grad_on_example();
  Tensor w;
  Value inside;
  {
    const NoGradGuard no_grad;
    w = x * 2;
    inside = tuple(w.requires_grad(), is_grad_enabled());
  }
  return tuple(inside, w.is_leaf(), w.grad_fn() ? Value("made") : Value(), is_grad_enabled());
}

SNIPPET(seed_003, seven_ways_7_grad) {
  const auto [x, y, z] = is_grad_on_example();
  Paper p;
  p("x.grad:", x.grad().defined() ? str(x.grad()) : "None");
  x.sum().backward();
  p("反向传播后 x.grad:", x.grad());
  return p.text;
}

SNIPPET(seed_003, ones_with_grad_inside_no_grad_is_not_tracked_there) {
  Tensor y, z;
  {
    const NoGradGuard no_grad;
    y = ones({5}).requires_grad_();
    z = y * 2;
  }
  return tuple(y.requires_grad(), y.is_leaf(), z.requires_grad(), (y * 2).requires_grad());
}

SNIPPET(seed_003, default_parameters) {
  const nn::Linear m(10, 5);
  return tuple(m->weight.requires_grad(), m->bias.requires_grad(), m->weight.shape(), m->bias.shape(), m->weight.is_leaf());
}

SNIPPET(seed_003, freeze_a_parameter) {
  const nn::Linear m(2, 2);
  m->weight.requires_grad_(false);
  m(ones({1, 2})).sum().backward();
  return tuple(m->weight.grad().defined() ? Value(m->weight.grad()) : Value(), m->bias.grad(), m->weight.requires_grad());
}

SNIPPET(seed_003, requires_grad_rules_example) {
  Paper p;
  Tensor x = ones({5});
  p("1. torch.ones():", x.requires_grad());
  const Tensor y = tensor({1., 2., 3., 4., 5.});
  p("2. torch.tensor():", y.requires_grad());
  const Tensor z = x + y;
  p("3. 操作现有张量:", z.requires_grad());
  x.requires_grad_(true);
  const Tensor w = x + y;
  p("4. 至少一个输入 requires_grad=True:", w.requires_grad());
  const nn::Linear model(5, 3);
  p("5. 模型参数 (weight):", model->weight.requires_grad());
  p("   模型参数 (bias):", model->bias.requires_grad());
  Tensor a, b;
  {
    const NoGradGuard off;
    a = ones({5});
    b = ones({5}).requires_grad_();
  }
  p("6. torch.no_grad() 中创建:", a.requires_grad());
  p("   torch.no_grad() 中显式设置 True:", b.requires_grad());
  const Tensor c = x * 2;
  Tensor d;
  {
    const NoGradGuard off;
    d = x * 2;
  }
  p("7. 正常操作:", c.requires_grad());
  p("   torch.no_grad() 中的操作:", d.requires_grad());
  return p.text;
}

SNIPPET(seed_003, frozen_part_of_a_model) {
  manual_seed(2);
  const nn::Linear first(2, 3), second(3, 1);
  const Tensor h = first(ones({1, 2})).detach();
  second(h).sum().backward();
  return tuple(first->weight.grad().defined() ? Value(first->weight.grad()) : Value(), second->weight.grad(), second->bias.grad());
}
