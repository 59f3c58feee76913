#include "braze/nn/utils.h"

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn::utils {

namespace {

std::vector<Tensor> gradients(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> all;
  for (const Tensor& parameter : parameters)
    if (const Tensor gradient = parameter.grad(); gradient.defined()) all.push_back(gradient);
  return all;
}

}  // namespace

Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type, bool error_if_nonfinite) {
  const NoGradGuard off;
  if (tensors.empty()) return tensor(0.);
  std::vector<Tensor> norms;
  for (const Tensor& each : tensors) norms.push_back(linalg::vector_norm(each, norm_type));
  const Tensor total = linalg::vector_norm(stack(norms), norm_type);
  require(!error_if_nonfinite || static_cast<bool>(isfinite(total)),
          "The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this "
          "error and "
          "scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`",
          repr(norm_type));
  return total;
}

void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm) {
  const NoGradGuard off;
  const Tensor factor = (max_norm / (total_norm + 1e-6)).clamp_max(1.0);
  for (Tensor& gradient : gradients(parameters)) gradient.mul_(factor.to(gradient.dtype()));
}

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  const Tensor total = get_total_norm(gradients(parameters), norm_type, error_if_nonfinite);
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const NoGradGuard off;
  for (Tensor& gradient : gradients(parameters)) gradient.clamp_(-clip_value, clip_value);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> rows;
  for (const Tensor& parameter : parameters) rows.push_back(parameter.reshape({-1}));
  return cat(rows);
}

void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters) count += parameter.numel();
  require(vector.dim() == 1 && vector.numel() == count, "expected a vector of {} elements, but got one of sizes {}", count,
          size_text(vector.sizes()));
  std::int64_t at = 0;
  for (Tensor parameter : parameters) {
    parameter.set_data(vector.detach().narrow(0, at, parameter.numel()).reshape(parameter.sizes()));
    at += parameter.numel();
  }
}

}  // namespace braze::nn::utils
