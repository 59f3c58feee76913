#include "frontend/positions.h"

#include "braze/functions.h"

namespace braze {

void PositionSum::add(const Tensor& term, std::int64_t stride) {
  const Tensor scaled = stride == 1 ? term : mul(In(term, where_), In(stride, where_));
  sum_ = sum_.defined() ? braze::add(In(sum_, where_), In(scaled, where_)) : scaled;
}

void PositionSum::add_axis(std::size_t axis, std::int64_t stride) {
  if (stride == 0 || sizes_[axis] == 1) return;
  Sizes alone(sizes_.size(), 1);
  alone[axis] = sizes_[axis];
  // Not arange, whose start and step are arguments: what steps by one is read and written side by side.
  add(wrap(engine::record(ir::Op::iota, {}, ir::ToShape{{sizes_[axis]}}, location(where_))).reshape(alone), stride);
}

void PositionSum::add_index(const Tensor& index, std::int64_t extent, std::int64_t stride) {
  const ir::Location at = location(where_);
  const engine::Value given = read(checked(index), at);
  add(wrap(engine::record(ir::Op::wrap_index, {&given, 1}, ir::WrapIndex{extent}, at)), stride);
}

void PositionSum::add_checked_index(const Tensor& index, std::int64_t extent, std::int64_t stride) {
  const In given(index, where_);
  add_index(where(lt(given, In(0, where_)), In(extent, where_), given), extent, stride);
}

engine::Value PositionSum::value() const {
  const ir::Location at = location(where_);
  const Tensor offset = full({}, Scalar(offset_), {DType::i64});
  const Tensor sum = !sum_.defined() ? offset : offset_ == 0 ? sum_ : braze::add(In(sum_, where_), In(offset_, where_));
  return expand(read(checked(sum), at), sizes_, at);
}

std::optional<std::int64_t> known_out_of_bounds(const Tensor& index, std::int64_t extent, bool negative_counts) {
  if (index.numel() > checked_at_the_call || index.numel() == 0 || !index.is_evaluated()) return std::nullopt;
  for (const std::int64_t i : index.to_vector<std::int64_t>())
    if (i >= extent || i < (negative_counts ? -extent : 0)) return i;
  return std::nullopt;
}

engine::Value fitted(const In& value, DType type, const Dims& sizes, ir::Location where) {
  if (value.is_scalar()) return expand(scalar_value(value.scalar(), type), value_sizes(type, sizes), where);
  const engine::Value given = read_as(checked(value.tensor()), type, where);
  const Dims from = sizes_of(*value.tensor().impl()->type);
  Dims kept = from;
  while (kept.size() > sizes.size() && kept[0] == 1) kept.erase(std::size_t{0});
  bool fits = kept.size() <= sizes.size();
  for (std::size_t i = 1; fits && i <= kept.size(); ++i)
    fits = kept[kept.size() - i] == 1 || kept[kept.size() - i] == sizes[sizes.size() - i];
  require<ShapeError>(fits, "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
                      sizes_text(from), sizes_text(sizes));
  return expand(reshape(given, value_sizes(type, kept), where), value_sizes(type, sizes), where);
}

}  // namespace braze
