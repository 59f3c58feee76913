// Losses element by element.
#include "braze/losses.h"

#include <cmath>
#include <numbers>

#include "braze/autograd.h"
#include "frontend/autograd/names.h"
#include "frontend/autograd/tracking.h"
#include "frontend/composing.h"
#include "frontend/engine/failures.h"
#include "frontend/losses.h"

namespace braze {

void require_reduction(std::string_view reduction) {
  require<ValueError>(reduction == "mean" || reduction == "sum" || reduction == "none", "{} is not a valid value for reduction",
                      reduction);
}

Tensor reduced(const Tensor& losses, std::string_view reduction) {
  require_reduction(reduction);
  return reduction == "none" ? losses : reduction == "sum" ? losses.sum() : losses.mean();
}

namespace nn::functional {

namespace {

// The dtype of both together, which must be a floating one.
DType loss_type(std::string_view kernel, const In& input, const Tensor& target) {
  require_tensor(kernel, input);
  const In other(target);
  const In* operands[] = {&input, &other};
  const DType type = result_type(operands);
  if (!is_float(type)) not_implemented_for(kernel, type);
  return type;
}

// f(input, target) reduced; a weight makes the mean a weighted one.
template <class F>
Tensor loss(std::string_view kernel, const In& input, const Tensor& target, std::string_view reduction, const Tensor& weight, F f) {
  require_reduction(reduction);
  require<ValueError>(!weight.defined() || (!input.is_scalar() && weight.sizes() == input.tensor().sizes()),
                      "Inputs and weights must have the same size.");
  const SourceLine line(input.where());
  return zip_in(loss_type(kernel, input, target), input, target, [&](const Tensor& x, const Tensor& t) {
    const Tensor each = f(x, t);
    if (!weight.defined()) return reduced(each, reduction);
    const Tensor weights = weight.to(each.dtype());
    const Tensor weighed = each * weights;
    if (reduction != "mean") return reduced(weighed, reduction);
    return weighed.sum() / weights.sum();
  });
}

void require_same_sizes(const In& input, const Tensor& target) {
  const Sizes a = input.tensor().sizes(), b = target.sizes();
  require<ValueError>(
      a == b,
      "Using a target size (torch.Size([{}])) that is different to the input size (torch.Size([{}])) is deprecated. "
      "Please ensure they have the same size.",
      fmt::join(b, ", "), fmt::join(a, ", "));
}

}  // namespace

Tensor mse_loss(const In& input, const Tensor& target, std::string_view reduction, const Tensor& weight) {
  const GradientScope scope(GradientName::MseLossBackward0);
  return loss("mse_cpu", input, target, reduction, weight, [](const Tensor& x, const Tensor& t) { return square(x - t); });
}

Tensor l1_loss(const In& input, const Tensor& target, std::string_view reduction, const Tensor& weight) {
  return loss("l1_loss", input, target, reduction, weight, [](const Tensor& x, const Tensor& t) { return abs(x - t); });
}

Tensor smooth_l1_loss(const In& input, const Tensor& target, std::string_view reduction, double beta) {
  const GradientScope scope(GradientName::SmoothL1LossBackward0);
  require(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(input, target, reduction);
  return loss("smooth_l1_cpu", input, target, reduction, {}, [&](const Tensor& x, const Tensor& t) {
    const Tensor distance = abs(x - t);
    return where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta);
  });
}

Tensor huber_loss(const In& input, const Tensor& target, std::string_view reduction, double delta, const Tensor& weight) {
  const GradientScope scope(GradientName::HuberLossBackward0);
  require(delta > 0, "huber_loss does not support non-positive values for delta.");
  return loss("huber_cpu", input, target, reduction, weight, [&](const Tensor& x, const Tensor& t) {
    const Tensor distance = abs(x - t);
    return where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta));
  });
}

namespace {

Tensor beyond(const Tensor& x) { return logical_not(logical_and(x >= 0, x <= 1)); }

// x, of which no element is `wrong`: PyTorch looks at each.
Tensor checked_elements(const Tensor& x, const Tensor& wrong, const char* complaint) {
  const engine::Value index = read(checked(wrong.to(DType::i64)), here());
  try {
    engine::Value zero = engine::record(ir::Op::wrap_index, {&index, 1}, ir::WrapIndex{1}, here());
    engine::set_complaint(zero.node(), complaint);
    return x + wrap(std::move(zero)).to(x.dtype());
  } catch (const IndexError&) {  // it ran at once
    fail("{}", complaint);
  }
}

}  // namespace

Tensor binary_cross_entropy(const In& input, const Tensor& target, const Tensor& weight, std::string_view reduction) {
  const GradientScope scope(GradientName::BinaryCrossEntropyBackward0);
  require_tensor("binary_cross_entropy", input);
  require_same_sizes(input, target);
  require(input.tensor().dtype() == target.dtype(), "Found dtype {} but expected {}", info(target.dtype()).scalar_name,
          info(input.tensor().dtype()).scalar_name);
  require_reduction(reduction);
  const SourceLine line(input.where());
  return zip_floating("binary_cross_entropy", input, target, [&](const Tensor& given, const Tensor& expected) {
    const Tensor x_beyond = beyond(given), t_beyond = logical_and(beyond(expected), logical_not(x_beyond));
    const Tensor x = checked_elements(given, x_beyond, "all elements of input should be between 0 and 1");
    const Tensor t = checked_elements(expected, t_beyond, "all elements of target should be between 0 and 1");
    Tensor each = (t - 1) * maximum(log1p(-x), -100) - t * maximum(log(x), -100);
    const bool of_x = x.requires_grad(), of_t = t.requires_grad();
    // PyTorch's gradient, which is finite where a probability is 0 or 1.
    const auto pull = [of_x, of_t](const Tensor& g, std::span<const Tensor> saved) -> std::vector<Tensor> {
      const Tensor &x = saved[0], &t = saved[1];
      return {of_x ? g * (x - t) / maximum((1 - x) * x, 1e-12) : Tensor(),
              of_t ? g * (maximum(log1p(-x), -100) - maximum(log(x), -100)) : Tensor()};
    };
    if (is_grad_enabled() && (of_x || of_t)) each = with_shortcut(each, {"BinaryCrossEntropyBackward0", {x, t}, {x, t}, pull});
    return reduced(weight.defined() ? each * weight : each, reduction);
  });
}

Tensor binary_cross_entropy_with_logits(const In& input, const Tensor& target, const Tensor& weight, std::string_view reduction,
                                        const Tensor& pos_weight) {
  const GradientScope scope(GradientName::BinaryCrossEntropyWithLogitsBackward0);
  const Sizes a = require_tensor("binary_cross_entropy_with_logits", input).sizes(), b = target.sizes();
  require<ValueError>(a == b, "Target size (torch.Size([{}])) must be the same as input size (torch.Size([{}]))",
                      fmt::join(b, ", "), fmt::join(a, ", "));
  require_reduction(reduction);
  const SourceLine line(input.where());
  return zip_floating("binary_cross_entropy_with_logits", input, target, [&](const Tensor& x, const Tensor& t) {
    const Tensor log_probability = minimum(x, 0) - log1p(exp(-abs(x)));  // of the sigmoid
    const Tensor positive = pos_weight.defined() ? ((pos_weight - 1) * t + 1) * log_probability : log_probability;
    const Tensor each = (1 - t) * x - positive;
    return reduced(weight.defined() ? each * weight : each, reduction);
  });
}

Tensor kl_div(const In& input, const Tensor& target, std::string_view reduction, bool log_target) {
  const bool by_batch = reduction == "batchmean";
  const auto divergence = [&](const Tensor& x, const Tensor& t) { return log_target ? exp(t) * (t - x) : xlogy(t, t) - t * x; };
  const Tensor result = loss("kl_div", input, target, by_batch ? "sum" : reduction, {}, divergence);
  if (!by_batch) return result;
  require(input.tensor().dim() > 0, "kl_div: batchmean needs a batch dim");
  return result / input.tensor().size(0);
}

Tensor poisson_nll_loss(const In& input, const Tensor& target, bool log_input, bool full, double eps, std::string_view reduction) {
  return loss("poisson_nll_loss", input, target, reduction, {}, [&](const Tensor& x, const Tensor& t) {
    Tensor each = log_input ? exp(x) - t * x : x - t * log(x + eps);
    // Stirling's approximation of log(t!).
    if (full) each = each + where(t <= 1, 0, t * log(t) - t + 0.5 * log(2 * std::numbers::pi * t));
    return each;
  });
}

Tensor gaussian_nll_loss(const In& input, const Tensor& target, const Tensor& var, bool full, double eps,
                         std::string_view reduction) {
  const Sizes sizes = require_tensor("gaussian_nll_loss", input).sizes();
  Tensor variance = var;
  if (var.sizes() != sizes) {
    if (var.dim() + 1 == static_cast<std::int64_t>(sizes.size()) && std::equal(sizes.begin(), sizes.end() - 1, var.sizes().begin()))
      variance = var.unsqueeze(-1);
    else
      require<ValueError>(var.dim() == 0 || (var.dim() == static_cast<std::int64_t>(sizes.size()) && var.size(-1) == 1 &&
                                             std::equal(sizes.begin(), sizes.end() - 1, var.sizes().begin())),
                          "var is of incorrect size");
  }
  require_reduction(reduction);
  return loss("gaussian_nll_loss", input, target, reduction, {}, [&](const Tensor& x, const Tensor& t) {
    const Tensor wide = variance.to(x.dtype());
    // The least variance moves the value alone: gradients are the variance's own.
    const Tensor clamped = wide + (maximum(wide, eps) - wide).detach();
    Tensor each = 0.5 * (log(clamped) + square(x - t) / clamped);
    if (full) each = each + 0.5 * std::log(2 * std::numbers::pi);
    return each;
  });
}

Tensor soft_margin_loss(const In& input, const Tensor& target, std::string_view reduction) {
  const GradientScope scope(GradientName::SoftMarginLossBackward0);
  return loss("soft_margin_loss", input, target, reduction, {},
              [](const Tensor& x, const Tensor& t) { return log1p(exp(-t * x)); });
}

}  // namespace nn::functional

}  // namespace braze
