// What the files of views share: sizes with -1, and the strides that show a layout under other sizes.
#pragma once

#include <optional>
#include <span>

#include "frontend/tensor_impl.h"

namespace braze {

// Axes by PyTorch's insertion sort, the fastest first. `compare` (negative, 0 or positive) is no strict weak order, so the algorithm is
// part of the result.
template <class Compare>
InlineVector<std::size_t, 5> fastest_first(std::size_t rank, const Compare& compare) {
  InlineVector<std::size_t, 5> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = rank - 1 - i;
  for (std::size_t i = 1; i < rank; ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int c = compare(axes[j], axes[moving]);
      if (c > 0) {
        std::swap(axes[j], axes[moving]);
        moving = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  return axes;
}

std::size_t axis_of(const Tensor& t, std::int64_t dim);

// Sizes with -1 filled in. Throws ShapeError in PyTorch's words.
Dims inferred_sizes(std::span<const std::int64_t> sizes, std::int64_t numel);
// The strides that show `g`'s elements under other sizes, or nothing where a copy is needed: PyTorch's computeStride.
std::optional<Dims> view_strides(const Geometry& g, std::span<const std::int64_t> sizes);

// The dims as a set of bits, wrapped. Throws where one stands twice.
std::uint64_t dims_mask(SizesView dims, std::int64_t rank);

// Strides of a dense tensor in a memory format. MemoryFormat::preserve keeps g's own where it is dense without overlaps, else the
// order of its axes: PyTorch's infer_dense_strides.
Dims format_strides(const Geometry& g, MemoryFormat format);
// Whether the layout is dense in that format.
bool is_dense_in(const Geometry& g, MemoryFormat format);
// A new tensor with x's elements cast to `type`, laid out by the strides of a dense tensor; backwards along the dims of `flipped`.
Tensor copy_laid_out(const Tensor& x, DType type, const Dims& strides, ir::Location where, std::uint64_t flipped = 0);

}  // namespace braze
