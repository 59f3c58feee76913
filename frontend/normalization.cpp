// Normalisation, composed of means: fusion makes one kernel of the elementwise part.
#include "braze/normalization.h"

#include <limits>

#include "braze/functional.h"
#include "frontend/autograd/names.h"
#include "frontend/composing.h"

namespace braze {

namespace {

struct Moments {
  Tensor mean, variance, centred;
};

// Over `dims`, kept as dims of one element.
Moments moments(const Tensor& x, const Sizes& dims) {
  const Tensor mean = x.mean(dims, true);
  const Tensor centred = x - mean;
  return {mean, square(centred).mean(dims, true), centred};
}

// `x` * weight + bias, as far as they are there, each in these sizes.
Tensor affine(Tensor x, const Tensor& weight, const Tensor& bias, const Sizes& sizes) {
  if (weight.defined()) x = x * weight.to(x.dtype()).reshape(sizes);
  if (bias.defined()) x = x + bias.to(x.dtype()).reshape(sizes);
  return x;
}

void require_last_dims(const Sizes& sizes, SizesView normalized_shape) {
  require(normalized_shape.size() > 0,
          "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
          "but got normalized_shape = {}",
          sizes_text(normalized_shape));
  const std::size_t rank = normalized_shape.size();
  require(rank <= sizes.size() &&
              std::equal(normalized_shape.begin(), normalized_shape.end(), sizes.end() - static_cast<std::ptrdiff_t>(rank)),
          "Given normalized_shape={}, expected input with shape [*, {}], but got input of size {}", sizes_text(normalized_shape),
          fmt::join(normalized_shape, ", "), sizes_text(sizes));
}

void require_shape_of(std::string_view name, const Tensor& affine, SizesView normalized_shape) {
  require(!affine.defined() || affine.sizes() == Sizes(normalized_shape.begin(), normalized_shape.end()),
          "Expected {} to be of same shape as normalized_shape, but got {} of shape {} and normalized_shape = {}", name, name,
          affine.defined() ? fmt::to_string(sizes_text(affine.sizes())) : "", sizes_text(normalized_shape));
}

Sizes last_dims(std::size_t count) {
  Sizes dims;
  for (std::size_t i = 0; i < count; ++i) dims.push_back(-static_cast<std::int64_t>(i) - 1);
  return dims;
}

// Sizes in which one element for each channel broadcasts.
Sizes along_channels(std::int64_t rank, std::int64_t channels) {
  Sizes sizes(static_cast<std::size_t>(rank), 1);
  sizes[1] = channels;
  return sizes;
}

void require_channels(std::string_view name, const Tensor& tensor, std::int64_t channels) {
  require(!tensor.defined() || tensor.numel() == channels, "{} should contain {} elements not {}", name, channels,
          tensor.defined() ? tensor.numel() : 0);
}

// Moves a running statistic towards `seen`; gradients have no part in it.
void follow(const Tensor& running, const Tensor& seen, double momentum) {
  if (!running.defined()) return;
  const Tensor now = seen.detach().reshape(running.sizes()).to(running.dtype());
  running.detach().copy_(now * momentum + running.detach() * (1 - momentum));
}

void require_float(std::string_view kernel, const Tensor& x) {
  if (!is_float(x.dtype())) not_implemented_for(kernel, x.dtype());
}

std::string size_of_input(const Sizes& sizes) { return fmt::format("torch.Size([{}])", fmt::join(sizes, ", ")); }

}  // namespace

Tensor layer_norm(const In& x, SizesView normalized_shape, const Tensor& weight, const Tensor& bias, double eps) {
  const GradientScope scope(GradientName::NativeLayerNormBackward0);
  const Tensor& self = require_tensor("layer_norm", x);
  const SourceLine line(x.where());
  require_last_dims(self.sizes(), normalized_shape);
  require_shape_of("weight", weight, normalized_shape);
  require_shape_of("bias", bias, normalized_shape);
  require_float("LayerNormKernelImpl", self);
  return in_compute_type(self, [&](const Tensor& x) {
    const Moments m = moments(x, last_dims(normalized_shape.size()));
    const Sizes sizes(normalized_shape.begin(), normalized_shape.end());
    return affine(m.centred * rsqrt(m.variance + eps), weight, bias, sizes);
  });
}

Tensor rms_norm(const In& x, SizesView normalized_shape, const Tensor& weight, std::optional<double> eps) {
  const Tensor& self = require_tensor("rms_norm", x);
  const SourceLine line(x.where());
  require_last_dims(self.sizes(), normalized_shape);
  require_shape_of("weight", weight, normalized_shape);
  require_float("rms_norm", self);
  return in_compute_type(self, [&](const Tensor& x) {
    const double least =
        eps.value_or(x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon());
    const Tensor scale = rsqrt(square(x).mean(last_dims(normalized_shape.size()), true) + least);
    return affine(x * scale, weight, {}, Sizes(normalized_shape.begin(), normalized_shape.end()));
  });
}

Tensor group_norm(const In& x, std::int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  const GradientScope scope(GradientName::NativeGroupNormBackward0);
  const Tensor& self = require_tensor("group_norm", x);
  const SourceLine line(x.where());
  const Sizes sizes = self.sizes();
  require(sizes.size() >= 2, "Expected at least 2 dimensions for input tensor but received {}", sizes.size());
  const std::int64_t batch = sizes[0], channels = sizes[1];
  require(num_groups > 0, "Expected num groups to be greater than 0, got {}", num_groups);
  require(channels % num_groups == 0,
          "Expected number of channels in input to be divisible by num_groups, but got input of shape {} and num_groups={}",
          sizes_text(sizes), num_groups);
  for (const auto& [name, tensor] : {std::pair<const char*, const Tensor&>{"weight", weight}, {"bias", bias}})
    require(
        !tensor.defined() || (tensor.dim() == 1 && tensor.numel() == channels),
        "Expected {} to be a vector of size equal to the number of channels in input, but got {} of shape {} and input of shape {}",
        name, name, tensor.defined() ? fmt::to_string(sizes_text(tensor.sizes())) : "", sizes_text(sizes));
  require_float("GroupNormKernelImpl", self);
  if (self.numel() == 0) return self.clone();
  return in_compute_type(self, [&](const Tensor& x) {
    const Moments m = moments(x.reshape({batch, num_groups, -1}), {2});
    const Tensor normal = (m.centred * rsqrt(m.variance + eps)).reshape(sizes);
    return affine(normal, weight, bias, along_channels(static_cast<std::int64_t>(sizes.size()), channels));
  });
}

namespace nn::functional {

Tensor batch_norm(const In& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight, const Tensor& bias,
                  bool training, double momentum, double eps) {
  const GradientScope scope(GradientName::NativeBatchNormBackward0);
  const Tensor& self = require_tensor("batch_norm", x);
  const SourceLine line(x.where());
  const Sizes sizes = self.sizes();
  require(sizes.size() >= 2, "batch_norm: expected an input of at least 2 dims, but got {}", sizes.size());
  const std::int64_t channels = sizes[1], count = channels == 0 ? 0 : self.numel() / channels;
  require<ValueError>(!training || count != 1, "Expected more than 1 value per channel when training, got input size {}",
                      size_of_input(sizes));
  require(training || (running_mean.defined() && running_var.defined()),
          "Expected running_mean and running_var to be defined when training=False");
  require_channels("running_mean", running_mean, channels);
  require_channels("running_var", running_var, channels);
  require_channels("weight", weight, channels);
  require_channels("bias", bias, channels);
  require_float("batch_norm", self);
  const Sizes each = along_channels(static_cast<std::int64_t>(sizes.size()), channels);
  return in_compute_type(self, [&](const Tensor& x) {
    if (!training) {
      const Tensor scale = rsqrt(running_var.to(x.dtype()).reshape(each) + eps);
      return affine((x - running_mean.to(x.dtype()).reshape(each)) * scale, weight, bias, each);
    }
    Sizes dims{0};
    for (std::int64_t i = 2; i < x.dim(); ++i) dims.push_back(i);
    const Moments m = moments(x, dims);
    follow(running_mean, m.mean, momentum);
    follow(running_var, m.variance * (static_cast<double>(count) / static_cast<double>(count - 1)), momentum);
    return affine(m.centred * rsqrt(m.variance + eps), weight, bias, each);
  });
}

Tensor instance_norm(const In& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight, const Tensor& bias,
                     bool use_input_stats, double momentum, double eps) {
  const Tensor& self = require_tensor("instance_norm", x);
  const SourceLine line(x.where());
  const Sizes sizes = self.sizes();
  require(sizes.size() >= 3, "instance_norm: expected an input of at least 3 dims, but got {}", sizes.size());
  if (!use_input_stats) {
    require(running_mean.defined() && running_var.defined(),
            "Expected running_mean and running_var to be defined when use_input_stats is false");
    return batch_norm(self, running_mean, running_var, weight, bias, false, momentum, eps);
  }
  const std::int64_t channels = sizes[1];
  std::int64_t count = 1;
  for (std::size_t i = 2; i < sizes.size(); ++i) count *= sizes[i];
  require<ValueError>(count != 1, "Expected more than 1 spatial element when training, got input size {}", size_of_input(sizes));
  require_channels("running_mean", running_mean, channels);
  require_channels("running_var", running_var, channels);
  require_float("instance_norm", self);
  return in_compute_type(self, [&](const Tensor& x) {
    Sizes dims;
    for (std::int64_t i = 2; i < x.dim(); ++i) dims.push_back(i);
    const Moments m = moments(x, dims);
    follow(running_mean, m.mean.mean(0), momentum);
    follow(running_var, m.variance.mean(0) * (static_cast<double>(count) / static_cast<double>(count - 1)), momentum);
    return affine(m.centred * rsqrt(m.variance + eps), weight, bias,
                  along_channels(static_cast<std::int64_t>(sizes.size()), channels));
  });
}

Tensor local_response_norm(const In& x, std::int64_t size, double alpha, double beta, double k) {
  const Tensor& self = require_tensor("local_response_norm", x);
  const SourceLine line(x.where());
  const Sizes sizes = self.sizes();
  require<ValueError>(sizes.size() >= 3, "Expected 3D or higher dimensionality                          input (got {} dimensions)",
                      sizes.size());
  if (self.numel() == 0) return self;
  return in_compute_type(self, [&](const Tensor& x) {
    // Channels as the last dim of a plane, so that a window over them is a pooling one.
    const Tensor squares = square(x).reshape({sizes[0], 1, sizes[1], -1});
    const Tensor means = avg_pool2d(braze::pad(squares, {0, 0, size / 2, (size - 1) / 2}), {size, 1}, {1, 1});
    return x / pow(means.reshape(sizes) * alpha + k, beta);
  });
}

}  // namespace nn::functional

}  // namespace braze
