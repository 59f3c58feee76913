#include "braze/nn/init.h"

#include <algorithm>
#include <cmath>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/host.h"
#include "frontend/engine/host.h"
#include "ir/error.h"

namespace braze::nn::init {

namespace {

void warn(const char* text) {
  if (const Host* host = engine::current_host.load(std::memory_order_acquire); host && host->warn) host->warn(text);
}
bool is_empty(const Tensor& tensor) {
  if (tensor.numel() > 0) return false;
  warn("Initializing zero-element tensors is a no-op");
  return true;
}

// Draws until each element has been accepted once: `draw` gives values and which of them are.
template <class Draw>
Tensor redraw(Draw draw) {
  auto [values, kept] = draw();
  while (!static_cast<bool>(kept.all())) {
    const auto [more, accepted] = draw();
    values = where(kept, values, more);
    kept = kept | accepted;
  }
  return values;
}

// Normally distributed between bounds in standard deviations: proposals, and their chance to stay. Robert, "Simulation of truncated normal
// variables", 1995.
Tensor truncated(const Tensor& tensor, double low, double high, Generator* generator) {
  const auto fresh = [&] { return empty_like(tensor).detach(); };
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; };
  const auto draw = [](Tensor& t, auto fill) { return Tensor(fill(t)); };
  using Draw = std::pair<Tensor, Tensor>;
  if (below(high) - below(low) >= 0.3)
    return redraw([&]() -> Draw {
      Tensor x = fresh();
      x.normal_(0, 1, generator);
      return {x, (x >= low) & (x <= high)};
    });
  const auto chance = [&](const Tensor& limit) {
    Tensor u = fresh();
    return draw(u, [&](Tensor& t) { return t.uniform_(0, 1, generator); }) <= limit;
  };
  const bool right = low > 0;
  const double side = right ? 1 : -1, near = right ? low : -high, far = right ? high : -low;
  if (near > 0 && near * (far - near) > 10) {
    const double rate = (near + std::sqrt(near * near + 4)) / 2;
    return redraw([&]() -> Draw {
      Tensor e = fresh();
      const Tensor x = e.exponential_(rate, generator) + near, off = x - rate;
      return {x * side, (x <= far) & chance(exp(off * off / -2))};
    });
  }
  const double nearest = std::min(std::max(low, 0.0), high);  // where the density is greatest
  return redraw([&]() -> Draw {
    Tensor x = fresh();
    x.uniform_(low, high, generator);
    return {x, chance(exp((nearest * nearest - x * x) / 2))};
  });
}

double xavier_deviation(const Tensor& tensor, double gain) {
  const auto [in, out] = calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2 / static_cast<double>(in + out));
}

double kaiming_deviation(const Tensor& tensor, double a, std::string_view mode, std::string_view nonlinearity) {
  std::string word(mode);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  require<ValueError>(word == "fan_in" || word == "fan_out", "Mode {} not supported, please use one of ['fan_in', 'fan_out']",
                      word);
  const auto [in, out] = calculate_fan_in_and_fan_out(tensor);
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(word == "fan_in" ? in : out));
}

}  // namespace

double calculate_gain(std::string_view nonlinearity, std::optional<double> param) {
  constexpr std::string_view plain[] = {"linear",           "conv1d",           "conv2d",           "conv3d",
                                        "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"};
  if (std::find(std::begin(plain), std::end(plain), nonlinearity) != std::end(plain)) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 3.0 / 4;
  require<ValueError>(nonlinearity == "leaky_relu", "Unsupported nonlinearity {}", nonlinearity);
  const double slope = param.value_or(0.01);
  return std::sqrt(2 / (1 + slope * slope));
}

std::pair<std::int64_t, std::int64_t> calculate_fan_in_and_fan_out(const Tensor& tensor) {
  require<ValueError>(tensor.dim() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  std::int64_t window = 1;
  for (std::int64_t d = 2; d < tensor.dim(); ++d) window *= tensor.size(d);
  return {tensor.size(1) * window, tensor.size(0) * window};
}

Tensor uniform_(Tensor tensor, double a, double b, Generator* generator) {
  const NoGradGuard off;
  return tensor.uniform_(a, b, generator);
}

Tensor normal_(Tensor tensor, double mean, double std, Generator* generator) {
  const NoGradGuard off;
  return tensor.normal_(mean, std, generator);
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b, Generator* generator) {
  const NoGradGuard off;
  if (mean < a - 2 * std || mean > b + 2 * std)
    warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.");
  if (tensor.numel() == 0) return tensor;
  const Tensor values = truncated(tensor, (a - mean) / std, (b - mean) / std, generator) * std + mean;
  return tensor.copy_(values.clamp(a, b));
}

Tensor constant_(Tensor tensor, Scalar value) {
  const NoGradGuard off;
  return tensor.fill_(value);
}

Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1.); }

Tensor zeros_(Tensor tensor) {
  const NoGradGuard off;
  return tensor.zero_();
}

Tensor eye_(Tensor tensor) {
  const NoGradGuard off;
  require<ValueError>(tensor.dim() == 2, "Only tensors with 2 dimensions are supported");
  tensor.zero_();
  tensor.diagonal().fill_(1);
  return tensor;
}

Tensor dirac_(Tensor tensor, std::int64_t groups) {
  const NoGradGuard off;
  require<ValueError>(tensor.dim() >= 3 && tensor.dim() <= 5, "Only tensors with 3, 4, or 5 dimensions are supported");
  require<ValueError>(groups > 0 && tensor.size(0) % groups == 0, "dim 0 must be divisible by groups");
  tensor.zero_();
  Tensor middle = tensor;
  for (std::int64_t d = tensor.dim() - 1; d >= 2; --d) middle = middle.select(d, tensor.size(d) / 2);
  const std::int64_t per_group = tensor.size(0) / groups, channels = std::min(per_group, tensor.size(1));
  for (std::int64_t group = 0; group < groups; ++group)
    middle.narrow(0, group * per_group, per_group).narrow(0, 0, channels).narrow(1, 0, channels).diagonal().fill_(1);
  return tensor;
}

Tensor xavier_uniform_(Tensor tensor, double gain, Generator* generator) {
  const double bound = std::sqrt(3.0) * xavier_deviation(tensor, gain);
  return uniform_(std::move(tensor), -bound, bound, generator);
}

Tensor xavier_normal_(Tensor tensor, double gain, Generator* generator) {
  const double deviation = xavier_deviation(tensor, gain);
  return normal_(std::move(tensor), 0, deviation, generator);
}

Tensor kaiming_uniform_(Tensor tensor, double a, std::string_view mode, std::string_view nonlinearity, Generator* generator) {
  if (is_empty(tensor)) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_deviation(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound, generator);
}

Tensor kaiming_normal_(Tensor tensor, double a, std::string_view mode, std::string_view nonlinearity, Generator* generator) {
  if (is_empty(tensor)) return tensor;
  const double deviation = kaiming_deviation(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, deviation, generator);
}

Tensor orthogonal_(Tensor tensor, double gain, Generator* generator) {
  const NoGradGuard off;
  require<ValueError>(tensor.dim() >= 2, "Only tensors with 2 or more dimensions are supported");
  if (tensor.numel() == 0) return tensor;
  const std::int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  Tensor drawn = empty({rows, columns}, {tensor.dtype()});
  drawn.normal_(0, 1, generator);
  auto [q, r] = linalg::qr(rows < columns ? drawn.t() : drawn);
  q = q * sign(diag(r));  // uniformly distributed only with the signs of the diagonal
  return tensor.copy_((rows < columns ? q.t() : q).reshape(tensor.sizes())).mul_(gain);
}

Tensor sparse_(Tensor tensor, double sparsity, double std, Generator* generator) {
  const NoGradGuard off;
  require<ValueError>(tensor.dim() == 2, "Only tensors with 2 dimensions are supported");
  tensor.normal_(0, std, generator);
  const std::int64_t rows = tensor.size(0);
  const auto zero = static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  for (std::int64_t column = 0; column < tensor.size(1); ++column)
    tensor.select(1, column).index_fill_(0, randperm(rows).narrow(0, 0, std::min(zero, rows)), 0);
  return tensor;
}

}  // namespace braze::nn::init
