// Seed document 002: tensors, up to automatic differentiation, as tests/conformance/cases/seed_002.py has it. What the document prints
// is part of the recorded cases: printed(p) says that the text is the document's, and recording compared it.
#include "braze/data.h"
#include "braze/nn.h"
#include "braze/optim.h"
#include "tests/cpp/snippet.h"

using namespace braze;
using namespace braze::recorded;

SNIPPET(seed_002, tensor_from_list) { return str(tensor({1, 2, 3})); }

SNIPPET(seed_002, Tensor_from_sizes) {
  const Tensor x = empty({2, 4});
  return tuple(x.shape(), x.dtype(), str(zeros_like(x)));
}

SNIPPET(seed_002, constructors_table) {
  return list(ones({2, 3}), zeros({3, 2}), eye(3), arange(1, 10, 2), linspace(0, 1, 5), ones({2}), eye(2, 3));
}

SNIPPET(seed_002, random_constructors_table) {
  manual_seed(66);
  const Tensor integers = randint(3, 9, {2, 2}), uniform = rand({4}), normals = randn({4});
  const Tensor shifted = normal(1.0, 2.0, {3}), order = randperm(7);
  return list(integers, uniform, normals, shifted, order);
}

SNIPPET(seed_002, seeded_rand_prints) {
  manual_seed(66);
  const Tensor x = rand({2, 3});
  Paper p;
  p(x);
  p(ones_like(x));
  p(ones_like(x, {int64}));
  p(rand_like(x, {.dtype = float32}));
  return printed(p);
}

SNIPPET(seed_002, like_constructors) {
  const Tensor x = ones({2, 3});
  return tuple(zeros_like(x), full_like(x, 7), ones_like(x, {int32}), empty_like(x).shape());
}

SNIPPET(seed_002, attributes) {
  const Tensor t = rand({3, 4});
  Paper p;
  p("形状：", t.shape());
  p("类型：", t.dtype());
  p("存储设备：", t.device());
  p("元素个数：", t.numel());
  return printed(p);
}

// The document's random draws up to section 3.1.
static Tensor through_first_randint() {
  manual_seed(66);
  const Tensor x = rand({2, 3});
  rand_like(x, {.dtype = float32});
  rand({3, 4});
  return randint(0, 10, {5});
}

SNIPPET(seed_002, type_conversion) {
  const Tensor t = through_first_randint();
  Paper p;
  p("type:", t.type(float32));
  p("float:", t.float_());
  return printed(p);
}

SNIPPET(seed_002, type_without_argument) { return list(ones({1}).type(), ones({1}, {int64}).type(), ones({1}, {bool_}).type()); }

SNIPPET(seed_002, from_numpy_shares) {
  static std::int64_t a[2][3] = {{1, 2, 3}, {4, 5, 6}};  // the result shares it
  const Tensor x = from_blob(a, {2, 3}, int64);
  const std::string text = str(x);
  a[0][0] = 100;
  x(1, 2) = -5;
  return tuple(text, x, Value::array(from_data(&a[0][0], {2, 3})));
}

SNIPPET(seed_002, from_numpy_copy_does_not_share) {
  std::int64_t a[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const Tensor x = from_data(&a[0][0], {2, 3});
  a[0][0] = 100;
  return tuple(x, Value::array(from_data(&a[0][0], {2, 3})));
}

SNIPPET(seed_002, tensor_of_ndarray_copies) {
  std::int64_t a[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const Tensor x = from_data(&a[0][0], {2, 3});
  a[0][0] = 100;
  return tuple(str(x), x.dtype());
}

SNIPPET(seed_002, numpy_method) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const Tensor::Exported n = x.export_memory();
  static_cast<std::int64_t*>(n.data)[0] = 9;
  return tuple(Value::pythons_own(), x);  // NumPy's text of the array
}

SNIPPET(seed_002, item_of_one) {
  const Tensor e = tensor({5});
  return tuple(e.item<std::int64_t>(), Value::pythons_own());
}

SNIPPET(seed_002, cuda_branch) {
  Tensor t3 = rand({2, 3});
  if (cuda::is_available()) t3 = t3.to("cuda").cpu();
  return "Device tensor is stored on: " + str(t3.device());
}

static Tensor through_t3() {
  through_first_randint();
  return rand({2, 3});
}

SNIPPET(seed_002, addition_three_ways) {
  Tensor t3 = through_t3();
  Paper p;
  p(t3 + t3);
  p(add(t3, t3));
  p(t3.add_(10));
  return printed(p);
}

SNIPPET(seed_002, matmul_two_ways) {
  const Tensor t3 = through_t3().add_(10);
  Paper p;
  p(matmul(t3, t3.T()));
  p(t3.matmul(t3.T()));
  return printed(p);
}

SNIPPET(seed_002, sum_over_dim) {
  const Tensor t3 = through_t3().add_(10);
  Paper p;
  p(t3);
  p(t3.sum(0));
  return printed(p);
}

SNIPPET(seed_002, slice_columns) {
  const Tensor t3 = through_t3().add_(10);
  Paper p;
  p(t3(slice(), slice(1, none)));
  return printed(p);
}

namespace {

struct Operands {
  Tensor a = tensor({{4., 9.}, {16., 1.}}), b = tensor({{2., 3.}, {4., 5.}});
};

}  // namespace

SNIPPET(seed_002, op_operators) {
  const auto [a, b] = Operands();
  return tuple(a + b, a - b, a * b, a / b);
}

SNIPPET(seed_002, op_named) {
  const auto [a, b] = Operands();
  return tuple(a.add(b), a.sub(b), a.mul(b), a.div(b), add(a, b), sub(a, b), mul(a, b), div(a, b));
}

SNIPPET(seed_002, op_power) {
  auto [a, b] = Operands();
  return tuple(a.pow(2), a.pow(2), pow(a, 2), b.pow_(2), b);
}

SNIPPET(seed_002, op_neg) {
  auto [a, b] = Operands();
  const Tensor minus = -a, neg = a.neg();
  a.neg_();
  // The tuple in Python holds `a` itself, which neg_ has changed by the time it is read.
  return tuple(minus, neg, a, a);
}

SNIPPET(seed_002, op_sqrt) {
  auto [a, b] = Operands();
  const Tensor method = a.sqrt(), function = sqrt(a);
  return tuple(method, function, a.sqrt_(), a);
}

SNIPPET(seed_002, op_exp) {
  auto [a, b] = Operands();
  const Tensor method = b.exp(), function = exp(b);
  return tuple(method, function, b.exp_(), b);
}

SNIPPET(seed_002, op_log) {
  auto [a, b] = Operands();
  const Tensor method = a.log(), function = log(a);
  return tuple(method, function, a.log_(), a);
}

SNIPPET(seed_002, op_sum_mean) {
  const Tensor a = Operands().a;
  return tuple(a.sum(), a.mean(), a.sum(0), a.mean(1), a.sum(1, true));
}

SNIPPET(seed_002, op_max_min) {
  const Tensor a = Operands().a;
  return tuple(a.max(), a.min(), a.max(0), a.min(1), a.max(1).values, a.max(1).indices);
}

SNIPPET(seed_002, op_argmax_argmin) {
  const Tensor a = Operands().a;
  return tuple(a.argmax(), a.argmin(), a.argmax(0), a.argmin(1));
}

SNIPPET(seed_002, op_std) {
  const Tensor a = Operands().a;
  return tuple(a.std(), a.std(0));
}

SNIPPET(seed_002, op_unique) { return tensor({3, 1, 3, 2, 1}).unique().output; }

SNIPPET(seed_002, op_sort) {
  const Tensor a = Operands().a;
  return tuple(a.sort(), a.sort(0), a.sort(-1, true));
}

SNIPPET(seed_002, boolean_fancy_slice_indexing) {
  const Tensor x = arange(12).reshape({3, 4});
  return tuple(x(x > 5), x(tensor({0, 2})), x(tensor({0, 1}), tensor({2, 3})), x(slice(1, none), slice(none, none, 2)),
               x(tensor({2, 0})));
}

SNIPPET(seed_002, slice_shares_memory) {
  const Tensor x = arange(6).reshape({2, 3});
  const Tensor y = x(slice(), slice(1, none));
  y(0, 0) = 100;
  const Tensor fancy = x(tensor({0, 1}));
  fancy(0, 0) = -1;
  return tuple(x, y, fancy);
}

SNIPPET(seed_002, flatten_prints) {
  through_t3();
  const Tensor x2 = rand({2, 3});
  Paper p;
  p(x2);
  p(x2.flatten());
  return printed(p);
}

static Tensor through_x2() {
  through_t3();
  return rand({2, 3});
}

SNIPPET(seed_002, transpose_prints) {
  through_x2();
  const Tensor t4 = randint(1, 10, {2, 2, 3});
  Paper p;
  p(t4);
  p(transpose(t4, 1, 2));
  p(t4.transpose(1, 2));
  return printed(p);
}

SNIPPET(seed_002, permute_prints) {
  through_x2();
  randint(1, 10, {2, 2, 3});
  Tensor t4 = randn({2, 3, 4});
  Paper p;
  p(t4);
  p("permute前：", t4.shape());
  t4 = t4.permute({1, 0, 2});
  p(t4);
  p("permute后：", t4.shape());
  return printed(p);
}

SNIPPET(seed_002, unsqueeze_prints) {
  const Tensor t4 = tensor({1, 2, 3});
  Paper p;
  p("在 0 维度插入：\n", t4.unsqueeze(0));
  p("\n在 1 维度插入：\n", t4.unsqueeze(1));
  return printed(p);
}

static void through_permute() {
  through_x2();
  randint(1, 10, {2, 2, 3});
  randn({2, 3, 4});
}

SNIPPET(seed_002, squeeze_prints) {
  through_permute();
  const Tensor t4 = randn({2, 1, 3, 1});
  Paper p;
  p(t4.squeeze());
  return printed(p);
}

SNIPPET(seed_002, view_then_iadd) {
  through_permute();
  randn({2, 1, 3, 1});
  const Tensor x1 = randn({4, 3});
  Tensor y1 = x1.view({12});
  y1 += 10;
  Paper p;
  p(x1);
  return printed(p);
}

SNIPPET(seed_002, reshape_view_or_copy) {
  through_permute();
  randn({2, 1, 3, 1});
  randn({4, 3});
  Tensor x2 = randn({4, 3});
  Tensor y2 = x2.reshape({12});
  y2 += 10;
  Paper p;
  p("连续返回视图：\n", x2);
  x2 = randn({4, 3}).T();
  y2 = x2.reshape({12});
  y2 += 10;
  p("不连续返回副本：\n", x2);
  p("转置前：", x2.is_contiguous());
  x2 = x2.T();
  p("转置后：", x2.is_contiguous());
  x2 = x2.contiguous();
  p("转换为连续：", x2.is_contiguous());
  return printed(p);
}

SNIPPET(seed_002, reshape_minus_one) {
  const Tensor x = arange(6);
  return tuple(x.reshape({-1, 1}), x.view({2, -1}), raised([&] { x.view({4, -1}); }, {"6"}));
}

SNIPPET(seed_002, view_of_transposed_raises) {
  const Tensor x = arange(12).reshape({4, 3}).T();
  return raised([&] { x.view({12}); }, {"view"});
}

SNIPPET(seed_002, cat_prints) {
  const Tensor x4 = arange(6).view({2, 3});
  Paper p;
  p(cat({x4, x4}));
  p(cat({x4, x4}, 1));
  return printed(p);
}

SNIPPET(seed_002, stack_prints) {
  const Tensor x4 = arange(6).view({2, 3});
  Paper p;
  p(stack({x4, x4}));
  p(stack({x4, x4}, 1));
  return printed(p);
}

SNIPPET(seed_002, broadcasting_prints) {
  const Tensor a = arange(6), b = arange(3).view({-1, 1});
  Paper p;
  p(a + b);
  return printed(p);
}

SNIPPET(seed_002, memory_by_id) {
  Tensor X = tensor({1, 2, 3});
  const Tensor keep = X;
  const auto* before = X.impl();
  X = X + 10;
  const bool first = X.impl() == before;
  before = X.impl();
  X += 10;
  const bool second = X.impl() == before;
  before = X.impl();
  X(slice()) = X + 10;
  const bool third = X.impl() == before;
  return tuple(first, second, third, X, keep);
}

SNIPPET(seed_002, uninitialised_by_sizes) {
  const Tensor x = empty({2, 4});
  return tuple(x.shape(), x.dtype(), tensor({2, 4}, {get_default_dtype()}), empty({0}).shape());
}

template <class T>
static constexpr bool has_copy = requires(const T& x) { x.copy(); };

SNIPPET(seed_002, copy_is_not_a_method) {
  return tuple(Value::pythons_own(), has_copy<Tensor>);  // Python raises AttributeError; here it does not compile
}

SNIPPET(seed_002, memory_format) {
  const Tensor x = ones({2, 3, 4, 5});
  const Tensor y = x.to(none, false, MemoryFormat::channels_last);
  return tuple(x.is_contiguous(), y.is_contiguous(), y.is_contiguous(MemoryFormat::channels_last), y.strides(),
               x.contiguous(MemoryFormat::channels_last).strides());
}

SNIPPET(seed_002, no_cuda_here) {
  const auto available = cuda::is_available();
  const auto count = cuda::device_count();
  return tuple(std::is_same_v<decltype(available), const bool>, std::is_integral_v<decltype(count)>, Device("cuda"),
               Device("cuda:0"), Device("mps"), Device(Device("cpu").type).str());
}

SNIPPET(seed_002, clone_then_view) {
  const Tensor x = arange(4.).requires_grad_();
  const Tensor y = x.clone().view({2, 2});
  (y * 3).sum().backward();
  return tuple(x.grad(), y.data_ptr() == x.data_ptr());
}

SNIPPET(seed_002, gradient_descent_by_hand) {
  const auto f = [](const Tensor& x) { return pow(x, 2); };
  Tensor x = tensor({10}, {float32}).requires_grad_();
  Paper p;
  const double lr = 0.2;
  for (int epoch = 0; epoch < 10; ++epoch) {
    const Tensor y_pred = f(x);
    if (x.grad().defined()) x.grad().zero_();
    y_pred.sum().backward();
    {
      const NoGradGuard no_grad;
      x -= lr * x.grad();
    }
    char line[80];
    std::snprintf(line, sizeof line, "epoch%d: x: %.3f, y: %.3f, grad: %.3f", epoch + 1, x.item<double>(), y_pred.item<double>(),
                  x.grad().item<double>());
    p(line);
  }
  return printed(p);
}

SNIPPET(seed_002, gradient_descent_through_data) {
  Tensor x = tensor({10}, {float32}).requires_grad_();
  for (int i = 0; i < 4; ++i) {
    if (x.grad().defined()) x.grad().zero_();
    pow(x, 2).sum().backward();
    x.set_data(tensor_data(x) - 0.2 * x.grad());
  }
  return tuple(x, x.grad(), x.is_leaf());
}

SNIPPET(seed_002, gradients_accumulate) {
  const Tensor x = tensor({3.}).requires_grad_();
  std::vector<Value> seen;
  for (int i = 0; i < 3; ++i) {
    (x * x).sum().backward();
    seen.emplace_back(x.grad().item<double>());
  }
  x.grad().zero_();
  return tuple(Value(Value::Kind::list, seen), x.grad());
}

namespace {

struct Fit {
  nn::Linear model = nullptr;
  std::vector<Value> losses;
};

Fit linear_regression(int epochs) {
  const Tensor X = randn({100, 1});
  const Tensor y = 5 * X + 3;
  const data::TensorDataset dataset(X, y);
  const data::DataLoader dataloader(dataset, {.batch_size = 16, .shuffle = true});
  Fit fit{nn::Linear(1, 1), {}};
  nn::MSELoss criterion;
  optim::SGD optimizer(fit.model->parameters(), {.lr = 0.01});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    Tensor loss;
    for (const auto& [X_train, y_train] : dataloader) {
      const Tensor y_pred = fit.model(X_train);
      loss = criterion(y_train, y_pred);
      optimizer.zero_grad();
      loss.sum().backward();
      optimizer.step();
    }
    fit.losses.emplace_back(loss.item<double>());
  }
  return fit;
}

std::string three_places(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", number);
  return text;
}

}  // namespace

SNIPPET(seed_002, linear_regression_converges) {
  manual_seed(66);
  const nn::Linear model = linear_regression(100).model;
  const std::string text =
      "模型参数 w：" + three_places(model->weight.item<double>()) + ", b: " + three_places(model->bias.item<double>());
  return tuple(text, text == "模型参数 w：5.000, b: 3.000");
}

SNIPPET(seed_002, linear_regression_first_epochs) {
  manual_seed(7);
  const Fit fit = linear_regression(3);
  return tuple(Value(Value::Kind::list, fit.losses), fit.model->weight, fit.model->bias);
}

SNIPPET(seed_002, imports) {
  const data::TensorDataset dataset(ones({2}));
  const data::DataLoader loader(dataset);
  const auto name = [](const auto& object) { return autograd::type_name(typeid(object)); };
  return list(Value::pythons_own(), Value::pythons_own(), name(loader), name(dataset), nn::MSELoss()->name(),
              optim::SGD({ones({1}).requires_grad_()}).name());
}

SNIPPET(seed_002, one_stream_to_the_regression) {
  manual_seed(66);
  for (int i = 0; i < 3; ++i) rand({2, 3});
  const Tensor X = randn({100, 1});
  const Tensor y = 5 * X + 3;
  const data::DataLoader loader(data::TensorDataset(X, y), {.batch_size = 16, .shuffle = true});
  const nn::Linear model(1, 1);
  nn::MSELoss criterion;
  optim::SGD optimizer(model->parameters(), {.lr = 0.01});
  std::vector<Value> sizes;
  for (int epoch = 0; epoch < 100; ++epoch)
    for (const auto& [xb, yb] : loader) {
      const Tensor loss = criterion(yb, model(xb));
      optimizer.zero_grad();
      loss.sum().backward();
      optimizer.step();
      if (epoch == 0) sizes.emplace_back(xb.size(0));
    }
  return tuple(three_places(model->weight.item<double>()) + " " + three_places(model->bias.item<double>()),
               Value(Value::Kind::list, sizes));
}
