// Joining, padding, repeating: results are new tensors.
#pragma once

#include "braze/tensor.h"

namespace braze {

Tensor cat(std::span<const Tensor> tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor cat(std::initializer_list<Tensor> tensors, std::int64_t dim = 0,
           std::source_location where = std::source_location::current());
Tensor stack(std::span<const Tensor> tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t dim = 0,
             std::source_location where = std::source_location::current());
// Constant padding; pairs (low, high) from the last dim backwards, as torch.nn.functional.pad. Negative amounts crop.
Tensor pad(const Tensor& x, SizesView amounts, Scalar value = 0, std::source_location where = std::source_location::current());

}  // namespace braze
