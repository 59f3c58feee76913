// Derivatives of sampled functions. https://pytorch.org/docs/stable/generated/torch.gradient.html
#pragma once

#include <span>
#include <vector>

#include "braze/tensor.h"

namespace braze {

// The derivative along each of `dim` (of all dims without it) by central differences, exact for polynomials of order 2; at the edges by
// one-sided ones of order `edge_order`, 1 or 2. Samples lie `spacing` apart: a number for all dims, one for each, or the samples'
// coordinates, a vector for each. Throws Error where a dim has fewer than edge_order + 1 elements, IndexError for a dim out of range.
std::vector<Tensor> gradient(const In& x, Scalar spacing = 1, DimsView dim = {}, std::int64_t edge_order = 1);
std::vector<Tensor> gradient(const In& x, std::span<const Scalar> spacing, DimsView dim = {}, std::int64_t edge_order = 1);
std::vector<Tensor> gradient(const In& x, std::span<const Tensor> coordinates, DimsView dim = {}, std::int64_t edge_order = 1);

}  // namespace braze
