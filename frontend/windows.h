// Sliding windows over the spatial dims of [N, C, L...]: what convolution, pooling and unfold read.
#pragma once

#include <string_view>

#include "frontend/linalg.h"
#include "frontend/tensor_impl.h"

namespace braze {

// How windows lie, an entry a spatial dim.
struct Windows {
  Dims kernel, stride, padding, dilation;

  std::size_t rank() const { return kernel.size(); }
  // Elements from the first that a window reads to the one past its last.
  std::int64_t reach(std::size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
};

// One number for each of `rank` dims. Throws unless one or `rank` are given: "conv2d: stride must be one integer or 2 of them".
Dims each_dim(std::string_view function, std::string_view name, SizesView given, std::size_t rank);

// L... of [N, C, L...].
Dims spatial_sizes(const Tensor& x);

// [N, C, L...] with the batch that it lacks as a dim of one element.
struct Batched {
  Tensor tensor;
  bool added = false;
  Tensor result(const Tensor& t) const { return added ? t.squeeze(0) : t; }
};
// Of `rank` spatial dims. Throws "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 2]".
Batched with_batch(std::string_view function, const Tensor& x, std::size_t rank);

// [N, C, k..., o...] of a padded input: a view, nothing is copied. `out` windows a dim.
Tensor windows_of(const Tensor& padded, const Windows& w, std::span<const std::int64_t> out);

// The dims of the kernel in [N, C, k..., o...].
Sizes kernel_dims(std::size_t rank);

// Windows of few elements are joined element by element: a chain of strided reads is one kernel that runs along the results, where a
// reduction would run along the little kernel. In the order of the kernel, as PyTorch's loops join them.
constexpr std::int64_t few_elements = 32;
bool are_few(const Tensor& windows, std::size_t rank);
// The elements of windows by place: slices of one view, so that a kernel which reads many has their strides once.
class Places {
 public:
  Places(const Tensor& windows, std::size_t rank);
  std::int64_t count() const { return count_; }
  // Element n of each window: [N, C, o...].
  Tensor at(std::int64_t n) const;

 private:
  const Tensor& windows_;
  std::size_t rank_;
  std::int64_t count_ = 1;
  engine::Value whole_;
};
// Calls join(n, element n of each window: [N, C, o...]) for each place n of the kernel in turn.
template <class F>
void for_each_place(const Tensor& windows, std::size_t rank, F&& join) {
  const Places places(windows, rank);
  for (std::int64_t n = 0; n < places.count(); ++n) join(n, places.at(n));
}

// Padding at both ends of each spatial dim.
Tensor pad_spatial(const Tensor& x, std::span<const std::int64_t> low, std::span<const std::int64_t> high, Scalar value);

// What stands around each spatial dim. Negative: what is taken from it.
struct Around {
  Dims low, high;
};

// A bias as [O, 1, ...].
Tensor along_channels(const Tensor& bias, std::size_t rank);

// [N, C, L...], zeros around it, with [O, C / groups, k...]: [N, O, o...]. The padding that `w` names is not read, `around` says it.
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Windows& w, const Around& around,
                std::int64_t groups);

// The reverse of windows_of: [N, C, k..., o...] summed where windows overlap into [N, C, size...], without what is around it.
Tensor sum_windows(const Tensor& values, const Windows& w, const Around& around, std::span<const std::int64_t> size);

// The greatest element of each window of x, of few and floats, with a gradient: of equal ones the first, of NaNs the last.
Tensor maxima_of_few(const Tensor& x, const Tensor& windows, const Windows& w, const Around& around);

}  // namespace braze
