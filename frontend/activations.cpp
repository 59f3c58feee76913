// The activations of torch.nn.functional, with PyTorch's formulas: they decide what comes out at infinities and NaN.
#include <numbers>

#include "braze/autograd.h"
#include "braze/creation.h"
#include "braze/picking.h"
#include "braze/random.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/complex.h"
#include "frontend/elementwise.h"
#include "frontend/formula.h"

namespace braze::nn::functional {

// PyTorch's kernel by erf for f32 and bf16 gives NaN at both infinities: 0 * x adds it, and keeps every other value as it is.
Tensor gelu(const In& input, std::string_view approximate) {
  const GradientScope scope(GradientName::GeluBackward0);
  require(approximate == "none" || approximate == "tanh", "approximate argument must be either none or tanh.");
  Tensor wide, shifted;
  const DType type = input.is_scalar() ? DType::f64 : input.tensor().dtype();
  const bool nan_at_infinity = type == DType::f32 || type == DType::bf16;
  const Tensor result = map_floating("GeluKernelImpl", input, [&](const Tensor& x) {
    if (approximate == "none") {
      wide = x;
      shifted = 1 + erf(x * (1 / std::numbers::sqrt2));
      const Tensor half = 0.5 * x * shifted;
      return nan_at_infinity ? half + 0 * x : half;
    }
    constexpr double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
    return 0.5 * x * (1 + tanh(beta * (x + 0.044715 * (x * x * x))));
  });
  if (!shifted.defined() || input.is_scalar() || !is_grad_enabled() || !input.tensor().requires_grad()) return result;
  // One factor an element, which a forward pass may keep in the place of what it is made of.
  const auto pull = [type](const Tensor& gradient, std::span<const Tensor> saved) -> std::vector<Tensor> {
    constexpr double height = std::numbers::inv_sqrtpi / std::numbers::sqrt2;  // of the normal density: 1 / sqrt(2 pi)
    const Tensor& x = saved[0];
    const Tensor g = gradient.to(x.dtype());
    const Tensor slope = 0.5 * saved[1] + x * (exp(x * x * -0.5) * height);
    return {(g * slope).to(type)};
  };
  return with_shortcut(result, {"GeluBackward0", {input.tensor()}, {wide, shifted}, pull});
}

Tensor silu(const In& x) {
  const GradientScope scope(GradientName::SiluBackward0);
  if (is_complex(x)) return mul(x, sigmoid(x));
  return map_floating("silu_cpu", x, [](const Tensor& x) { return x / (1 + exp(-x)); });
}

Tensor mish(const In& x) {
  const GradientScope scope(GradientName::MishBackward0);
  return map_floating("mish_cpu", x, [](const Tensor& x) { return x * tanh(log1p(exp(x))); });
}

Tensor softplus(const In& x, double beta, double threshold) {
  const GradientScope scope(GradientName::SoftplusBackward0);
  return map_floating("softplus_cpu", x, [&](const Tensor& x) {
    const Tensor scaled = x * beta;
    return where(scaled > threshold, x, log1p(exp(scaled)) / beta);
  });
}

namespace {

// scale * x for x >= 0, else alpha * scale * (e^(input_scale x) - 1).
Tensor exponential_linear(const In& x, double alpha, double scale, double input_scale) {
  return map_floating("elu_cpu", x,
                      [&](const Tensor& x) { return where(x < 0, expm1(x * input_scale) * (alpha * scale), x * scale); });
}

}  // namespace

Tensor elu(const In& x, double alpha) {
  const GradientScope scope(GradientName::EluBackward0);
  return exponential_linear(x, alpha, 1, 1);
}

Tensor celu(const In& x, double alpha) {
  const GradientScope scope(GradientName::CeluBackward0);
  require(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return exponential_linear(x, alpha, 1, 1 / alpha);
}

Tensor selu(const In& x) {
  const GradientScope scope(GradientName::EluBackward0);
  return exponential_linear(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

Tensor leaky_relu(const In& x, double negative_slope) {
  const GradientScope scope(GradientName::LeakyReluBackward0);
  return map_floating("leaky_relu_cpu", x, [&](const Tensor& x) { return where(x > 0, x, x * negative_slope); });
}

Tensor hardtanh(const In& x, Scalar min_val, Scalar max_val) {
  const GradientScope scope(GradientName::HardtanhBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  const DType type = t.dtype();
  require<NotImplementedError>(type != DType::boolean, "Bool inputs not supported for hardtanh");
  if (is_complex(type)) fail<NotImplementedError>("clamp is not supported for complex types ('{}')", info(type).scalar_name);
  // Limits take the tensor's dtype, however they were written.
  if (is_float(type)) return clamp(t, min_val, max_val);
  return clamp(t, min_val.to_int(), max_val.to_int());
}

Tensor relu6(const In& x) { return hardtanh(x, 0, 6); }

Tensor hardswish(const In& x) {
  const GradientScope scope(GradientName::HardswishBackward0);
  return map_floating("hardswish_cpu", x, [](const Tensor& x) { return x * clamp(x + 3, 0, 6) / 6; });
}

Tensor hardsigmoid(const In& x) {
  const GradientScope scope(GradientName::HardsigmoidBackward0);
  return map_floating("hardsigmoid_cpu", x, [](const Tensor& x) { return clamp(x + 3, 0, 6) / 6; });
}

Tensor logsigmoid(const In& x) {
  const GradientScope scope(GradientName::LogSigmoidBackward0);
  return map_floating("log_sigmoid_cpu", x, [](const Tensor& x) { return minimum(0, x) - log1p(exp(-abs(x))); });
}

Tensor softsign(const In& x) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  return t / (1 + abs(t));
}

Tensor tanhshrink(const In& x) {
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  return t - tanh(t);
}

Tensor hardshrink(const In& x, double lambd) {
  const GradientScope scope(GradientName::HardshrinkBackward0);
  return map_floating("hardshrink_cpu", x, [&](const Tensor& x) { return where((x >= -lambd) & (x <= lambd), 0, x); });
}

Tensor softshrink(const In& x, double lambd) {
  const GradientScope scope(GradientName::SoftshrinkBackward0);
  require(lambd >= 0, "lambda must be greater or equal to 0, but found to be {}.", lambd);
  return map_floating("softshrink_cpu", x, [&](const Tensor& x) {
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0 * x));  // NaN stays
  });
}

Tensor threshold(const In& x, Scalar threshold, Scalar value) {
  const GradientScope scope(GradientName::ThresholdBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  if (t.dtype() == DType::boolean) not_implemented_for("threshold_cpu", t.dtype());
  return where(t <= full({}, threshold, {t.dtype()}), full({}, value, {t.dtype()}), t);
}

Tensor prelu(const In& x, const Tensor& weight) {
  const GradientScope scope(GradientName::PreluKernelBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  require(t.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got {} and {}", info(t.dtype()).scalar_name,
          info(weight.dtype()).scalar_name);
  require(weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {}", weight.dim());
  if (!is_float(t.dtype())) not_implemented_for("prelu_cpu", t.dtype());
  Tensor slopes = weight;
  if (weight.numel() != 1) {
    require(t.dim() > 0, "Not allow zero-dim input tensor.");
    const std::int64_t channels = t.dim() > 1 ? t.size(1) : 1;
    require(channels == weight.numel(),
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = {} and channel size = {}.",
            weight.numel(), channels);
    Sizes sizes(static_cast<std::size_t>(t.dim()), 1);
    sizes[t.dim() > 1 ? 1 : 0] = channels;
    slopes = weight.reshape(sizes);
  } else {
    slopes = weight.reshape({});
  }
  return where(t > 0, t, slopes * t);
}

Tensor rrelu(const In& x, double lower, double upper, bool training, Generator* generator) {
  require(lower <= upper, "Lower bound should be less than or equal to the upper bound");
  const GradientScope scope(GradientName::RreluWithNoiseBackward0);
  if (!training) return leaky_relu(x, (lower + upper) / 2);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x).contiguous();
  const DType type = t.dtype();
  if (type != DType::f32 && type != DType::f64 && type != DType::bf16) not_implemented_for("rrelu_with_noise_out_cpu", type);
  const Tensor negative = t.detach() <= 0;
  Tensor drawn = empty({negative.sum().item<std::int64_t>()}, {float64});
  drawn.uniform_(lower, upper, generator);
  return t * masked_scatter(ones_like(t.detach()), negative, drawn.to(type));
}

Tensor glu(const In& x, std::int64_t dim) {
  const GradientScope scope(GradientName::GluBackward0);
  const SourceLine line(x.where());
  const Tensor t = as_tensor(x);
  require(t.dim() > 0, "glu does not support 0-dimensional tensors");
  const std::int64_t axis = wrap_dim(dim, t.dim()), size = t.size(axis);
  require(size % 2 == 0, "Halving dimension must be even, but dimension {} is size {}", axis, size);
  if (!is_float(t.dtype())) not_implemented_for("glu_cpu", t.dtype());
  return in_compute_type(
      t, [&](const Tensor& t) { return t.narrow(axis, 0, size / 2) * sigmoid(t.narrow(axis, size / 2, size / 2)); });
}

Tensor& elu_(Tensor& x, double alpha, Line where) { return write_in_place(x, elu(In(x, where), alpha), where); }
Tensor& celu_(Tensor& x, double alpha, Line where) { return write_in_place(x, celu(In(x, where), alpha), where); }
Tensor& selu_(Tensor& x, Line where) { return write_in_place(x, selu(In(x, where)), where); }
Tensor& leaky_relu_(Tensor& x, double negative_slope, Line where) {
  return write_in_place(x, leaky_relu(In(x, where), negative_slope), where);
}
Tensor& hardtanh_(Tensor& x, Scalar min_val, Scalar max_val, Line where) {
  return write_in_place(x, hardtanh(In(x, where), min_val, max_val), where);
}
Tensor& threshold_(Tensor& x, Scalar threshold, Scalar value, Line where) {
  return write_in_place(x, functional::threshold(In(x, where), threshold, value), where);
}

Tensor& rrelu_(Tensor& x, double lower, double upper, bool training, Generator* generator, Line where) {
  return write_in_place(x, rrelu(In(x, where), lower, upper, training, generator), where);
}

}  // namespace braze::nn::functional
