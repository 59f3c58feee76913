#include "braze/nn/normalization.h"

#include "braze/functional.h"
#include "braze/functions.h"
#include "braze/nn/init.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

Tensor filled(bool there, SizesView sizes, double value, std::optional<DType> dtype) {
  return there ? full(sizes, value, {dtype.value_or(get_default_dtype())}) : Tensor();
}

void reset(const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

}  // namespace

ChannelNormImpl::ChannelNormImpl(std::int64_t num_features, const BatchNormOptions& o)
    : num_features(num_features),
      options(o),
      weight(register_parameter("weight", filled(o.affine, {num_features}, 1, o.dtype))),
      bias(register_parameter("bias", filled(o.affine && o.bias, {num_features}, 0, o.dtype))),
      running_mean(register_buffer("running_mean", filled(o.track_running_stats, {num_features}, 0, o.dtype))),
      running_var(register_buffer("running_var", filled(o.track_running_stats, {num_features}, 1, o.dtype))),
      num_batches_tracked(register_buffer("num_batches_tracked", o.track_running_stats ? tensor(0) : Tensor())) {}

void ChannelNormImpl::reset_running_stats() {
  if (!options.track_running_stats) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

void ChannelNormImpl::reset_parameters() {
  reset_running_stats();
  reset(weight, bias);
}

std::string ChannelNormImpl::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}", num_features, repr(options.eps),
                     options.momentum ? repr(*options.momentum) : "None", repr(options.affine), repr(bias.defined()),
                     repr(options.track_running_stats));
}

Tensor BatchNormImpl::normalize(const In& input, std::int64_t rank) {
  if (input.is_scalar()) detail::refuse_number(*this);
  const std::int64_t dims = input.tensor().dim();
  require<ValueError>(dims == rank + 2 || (rank == 1 && dims == 2), "expected {} input (got {}D input)",
                      rank == 1 ? "2D or 3D" : fmt::format("{}D", rank + 2), dims);
  double momentum = options.momentum.value_or(0);
  if (is_training() && num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    if (!options.momentum) momentum = 1 / num_batches_tracked.item<double>();  // the mean of all batches
  }
  return functional::batch_norm(input, running_mean, running_var, weight, bias, is_training() || !running_mean.defined(), momentum,
                                options.eps);
}

Tensor InstanceNormImpl::normalize(const In& input, std::int64_t rank) {
  if (input.is_scalar()) detail::refuse_number(*this);
  const Tensor& x = input.tensor();
  require<ValueError>(x.dim() == rank + 1 || x.dim() == rank + 2, "expected {}D or {}D input (got {}D input)", rank + 1, rank + 2,
                      x.dim());
  const std::int64_t channels = x.size(-rank - 1);
  require<ValueError>(channels == num_features || !options.affine,
                      "expected input's size at dim={} to match num_features ({}), but got: {}.", x.dim() - rank - 1, num_features,
                      channels);
  const bool alone = x.dim() == rank + 1;
  const Tensor batch = alone ? x.unsqueeze(0) : x;
  const Tensor result =
      functional::instance_norm(In(batch, input.where()), running_mean, running_var, weight, bias,
                                is_training() || !options.track_running_stats, options.momentum.value_or(0), options.eps);
  return alone ? result.squeeze(0) : result;
}

LayerNormImpl::LayerNormImpl(const Window& normalized_shape, const Options& o)
    : normalized_shape(normalized_shape.sizes()),
      options(o),
      weight(register_parameter("weight", filled(o.elementwise_affine, this->normalized_shape, 1, o.dtype))),
      bias(register_parameter("bias", filled(o.elementwise_affine && o.bias, this->normalized_shape, 0, o.dtype))) {}
void LayerNormImpl::reset_parameters() { reset(weight, bias); }
Tensor LayerNormImpl::forward(const In& input) { return layer_norm(input, normalized_shape, weight, bias, options.eps); }
std::string LayerNormImpl::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}, bias={}", repr(normalized_shape), repr(options.eps),
                     repr(options.elementwise_affine), repr(bias.defined()));
}

RMSNormImpl::RMSNormImpl(const Window& normalized_shape, const Options& o)
    : normalized_shape(normalized_shape.sizes()),
      options(o),
      weight(register_parameter("weight", filled(o.elementwise_affine, this->normalized_shape, 1, o.dtype))) {}
void RMSNormImpl::reset_parameters() { reset(weight, {}); }
Tensor RMSNormImpl::forward(const In& input) { return rms_norm(input, normalized_shape, weight, options.eps); }
std::string RMSNormImpl::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}", repr(normalized_shape), options.eps ? repr(*options.eps) : "None",
                     repr(options.elementwise_affine));
}

GroupNormImpl::GroupNormImpl(std::int64_t num_groups, std::int64_t num_channels, const Options& o)
    : num_groups(num_groups),
      num_channels(num_channels),
      options(o),
      weight(register_parameter("weight", filled(o.affine, {num_channels}, 1, o.dtype))),
      bias(register_parameter("bias", filled(o.affine && o.bias, {num_channels}, 0, o.dtype))) {
  require<ValueError>(num_groups > 0 && num_channels % num_groups == 0, "num_channels ({}) must be divisible by num_groups ({})",
                      num_channels, num_groups);
}
void GroupNormImpl::reset_parameters() { reset(weight, bias); }
Tensor GroupNormImpl::forward(const In& input) { return group_norm(input, num_groups, weight, bias, options.eps); }
std::string GroupNormImpl::extra_repr() const {
  return fmt::format("{}, {}, eps={}, affine={}, bias={}", num_groups, num_channels, repr(options.eps), repr(options.affine),
                     repr(bias.defined()));
}

Tensor LocalResponseNormImpl::forward(const In& input) {
  return functional::local_response_norm(input, size, options.alpha, options.beta, options.k);
}
std::string LocalResponseNormImpl::extra_repr() const {
  return fmt::format("{}, alpha={}, beta={}, k={}", size, repr(options.alpha), repr(options.beta), repr(options.k));
}

}  // namespace braze::nn
