#include "frontend/positions.h"

#include "braze/functions.h"
#include "braze/host.h"
#include "frontend/elementwise.h"
#include "frontend/engine/host.h"

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

GradientName written_name(const Tensor& x, GradientName name) { return checked(x).base ? GradientName::CopySlices : name; }

void warn_where_expanded(const Geometry& written, std::string_view function, std::string_view example) {
  bool repeats = false;
  for (std::size_t i = 0; i < written.sizes.size(); ++i) repeats |= written.strides[i] == 0 && written.sizes[i] > 1;
  const Host* host = engine::current_host.load(std::memory_order_acquire);
  if (!repeats || !host || !host->warn) return;
  host->warn(
      fmt::format("Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This "
                  "also applies to advanced indexing e.g. {}",
                  function, example)
          .c_str());
}

Tensor& fill_masked(Tensor& x, const Tensor& mask, const In& value) {
  const Tensor one =
      value.is_scalar() ? full({}, value.scalar(), {x.dtype()}) : value.tensor().reshape({}).to(x.dtype(), value.where());
  Tensor target = x, where_to = mask.expand(x.sizes());
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (x.stride(d) != 0 || x.size(d) <= 1) continue;
    target = target.narrow(d, 0, 1);
    where_to = any(In(where_to, value.where()), d, true);
  }
  write_in_place(target, where(In(where_to, value.where()), In(one, value.where()), In(target, value.where())), value.where());
  return x;
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
