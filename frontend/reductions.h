// What the reductions' files share: masks of axes, and reducing over them.
#pragma once

#include "frontend/composing.h"

namespace braze {

using AxisMask = std::uint64_t;

AxisMask all_axes(std::int64_t rank);
// None and an empty list mean all. Throws where a dim is out of range or repeated.
AxisMask axis_mask(DimsView dims, std::int64_t rank);
bool has_axis(AxisMask mask, std::size_t axis);

// `op`, a row that reduces, over the masked axes of `x`.
Tensor reduce(ir::Op op, const Tensor& x, AxisMask mask, bool keepdim);
// How many elements go into one result.
std::int64_t reduced_count(const Tensor& x, AxisMask mask);
// Throws IndexError where a masked axis is empty: "max(): Expected reduction dim 0 to have non-zero size."
void require_elements(std::string_view function, const Tensor& x, AxisMask mask);

// float32 for the halves, else as it is: what composites compute in before they round once.
Tensor widened(const Tensor& x);
// sqrt(x) of what is not negative; its derivative at 0 is 0, as that of deviations and norms is, and not infinite.
Tensor sqrt_of_sum(const Tensor& x);

// The axis of a dim, and `x` with at least one axis: a number counts as a vector of one element.
struct Along {
  Tensor x;
  std::int64_t axis;
};
Along along(const Tensor& x, std::int64_t dim);

}  // namespace braze
