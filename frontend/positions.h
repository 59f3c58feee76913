// Flat positions in a storage, as i64 values: what `take` and `put` are given. A position is an offset plus, for each axis of the
// result, its number times a stride, or a tensor's element times a stride.
#pragma once

#include <source_location>

#include "frontend/autograd/names.h"
#include "frontend/tensor_impl.h"

namespace braze {

class PositionSum {
 public:
  PositionSum(Dims sizes, std::int64_t offset, const std::source_location& where)
      : sizes_(std::move(sizes)), offset_(offset), where_(where) {}

  // The number along `axis` of the result.
  void add_axis(std::size_t axis, std::int64_t stride);
  // `index` broadcasts to the result; each element lies in [-extent, extent), counting from the end where negative. Anything else is
  // an IndexError at evaluation.
  void add_index(const Tensor& index, std::int64_t extent, std::int64_t stride);
  // The same without counting from the end: gather and its kin refuse negative numbers.
  void add_checked_index(const Tensor& index, std::int64_t extent, std::int64_t stride);
  // Adds term * stride; `term` broadcasts to the result.
  void add(const Tensor& term, std::int64_t stride);
  // i64, with the result's sizes.
  engine::Value value() const;

 private:
  Dims sizes_;
  std::int64_t offset_;
  std::source_location where_;
  Tensor sum_;
};

// An index whose elements are in memory already is checked at the call, up to this many of them; others when a value is needed.
inline constexpr std::int64_t checked_at_the_call = 1 << 16;
// The first element outside [-extent, extent), or outside [0, extent) where negative ones do not count from the end.
std::optional<std::int64_t> known_out_of_bounds(const Tensor& index, std::int64_t extent, bool negative_counts);

// The name of an in-place function's derivative: CopySlices where it writes through a view.
GradientName written_name(const Tensor& x, GradientName name);

// What PyTorch lets write to a tensor that shows an element more than once (masked_fill_, index_fill_, index_put_), and warns of:
// `example` is how it is spelled with brackets.
void warn_where_expanded(const Geometry& written, std::string_view function, std::string_view example);
// write_at for these: an element that several positions name gets what each of them says, in order.
void write_at_repeated(TensorImpl& tensor, const engine::Value& positions, const engine::Value& values, ir::Put::Combine combine,
                       ir::Location where);
// `value` (one element) where the mask is true; an element shown more than once is written where any of its masks is.
Tensor& fill_masked(Tensor& x, const Tensor& mask, const In& value);

// An operand as values of `type` broadcast to `sizes`; leading dims of one element may be dropped. Throws ShapeError as PyTorch's
// assignment does.
engine::Value fitted(const In& value, DType type, const Dims& sizes, ir::Location where);

}  // namespace braze
