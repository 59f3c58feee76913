// torch.nn.utils: gradients kept small, parameters as one vector. https://pytorch.org/docs/stable/nn.html#utilities
#pragma once

#include <span>
#include <vector>

#include "braze/tensor.h"

namespace braze::nn::utils {

// The norm of all tensors together, as if they were one vector. With `error_if_nonfinite` throws Error where it is NaN or infinite.
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type = 2, bool error_if_nonfinite = false);
// Scales the gradients down, in place, so that their norm is at most max_norm; returns the norm that they had.
// https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false);
// Scales gradients of that norm down to max_norm, in place.
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm);
// Keeps each element of the gradients between -clip_value and clip_value, in place.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

// All elements of all parameters in a row, and such a row written back. Throws Error where the vector has another number of elements.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

}  // namespace braze::nn::utils
