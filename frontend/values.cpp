// Values and sizes: the small vocabulary that the other files of the frontend are written in.
#include <algorithm>
#include <cstring>

#include "frontend/engine/host.h"
#include "frontend/engine/thread_state.h"
#include "frontend/source_line.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

// The host's line, where a host language runs; else the C++ line.
ir::Location spelled_out(const std::source_location& where) {
  if (const Host* host = engine::current_host.load(std::memory_order_acquire))
    if (const Host::Line line = host->line(); line.file) return {line.file, line.number};
  return where.line() == 0 ? ir::Location{} : ir::Location{where.file_name(), where.line()};
}

}  // namespace

ir::Location location(const std::source_location& where) {
  return engine::thread_state.source_line ? *engine::thread_state.source_line : spelled_out(where);
}

// A nested one is asked for no line: looking one up costs as much as recording an op.
SourceLine::SourceLine(const std::source_location& where) : outermost_(engine::thread_state.source_line == nullptr) {
  if (!outermost_) return;
  where_ = spelled_out(where);
  engine::thread_state.source_line = &where_;
}

SourceLine::SourceLine(ir::Location where) : where_(where), outermost_(engine::thread_state.source_line == nullptr) {
  if (outermost_) engine::thread_state.source_line = &where_;
}

SourceLine::~SourceLine() {
  if (outermost_) engine::thread_state.source_line = nullptr;
}

const ir::Location* SourceLine::current() { return engine::thread_state.source_line; }

ir::Type make_type(DType type, std::span<const std::int64_t> sizes) {
  ir::Type out{type, {}};
  for (const std::int64_t s : sizes) out.shape.push_back(s);
  return out;
}

Dims value_sizes(DType type, std::span<const std::int64_t> sizes) {
  Dims out(sizes);
  if (is_complex(type)) out.push_back(2);
  return out;
}

Dims sizes_of(const ir::Type& type) {
  Dims out;
  for (const ir::Extent& e : type.shape) out.push_back(e.number());
  return out;
}

Dims contiguous_strides(std::span<const std::int64_t> sizes) {
  Dims strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

std::int64_t Geometry::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t s : sizes) count *= s;
  return count;
}

bool Geometry::contiguous() const {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

Geometry TensorImpl::layout() const {
  if (geometry) return *geometry;
  Geometry g;
  g.sizes = sizes_of(*type);
  g.strides = contiguous_strides(g.sizes);
  return g;
}

std::int64_t checked_numel(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  bool overflow = false, empty = false;
  for (const std::int64_t s : sizes) {
    require<ShapeError>(s >= 0, "Trying to create tensor with negative dimension {}: {}", s, sizes_text(sizes));
    empty |= s == 0;
    overflow |= __builtin_mul_overflow(count, std::max<std::int64_t>(s, 1), &count);
  }
  require<ShapeError>(!overflow, "sizes {} have more elements than 64 bits can count", sizes_text(sizes));
  return empty ? 0 : count;
}

std::int64_t wrap_dim(std::int64_t dim, std::int64_t rank) {
  const std::int64_t bound = std::max<std::int64_t>(rank, 1);
  require<IndexError>(-bound <= dim && dim < bound, "Dimension out of range (expected to be in range of [{}, {}], but got {})",
                      -bound, bound - 1, dim);
  return dim < 0 ? dim + bound : dim;
}

Dims broadcast_sizes(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Dims out(rank);
  for (std::size_t i = 0; i < rank; ++i) {  // from the last dim backwards
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1, right = i < b.size() ? b[b.size() - 1 - i] : 1;
    require<ShapeError>(
        left == right || left == 1 || right == 1,
        "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}: shapes {} and {} do "
        "not broadcast",
        left, right, rank - 1 - i, sizes_text(a), sizes_text(b));
    out[rank - 1 - i] = left == 1 ? right : left;
  }
  return out;
}

engine::Value cast(const engine::Value& value, DType type, ir::Location where) {
  if (value.type().dtype == type) return value;
  return engine::record(ir::Op::cast, {&value, 1}, ir::Cast{type}, where);
}

engine::Value expand(const engine::Value& value, std::span<const std::int64_t> sizes, ir::Location where) {
  ir::Type type = make_type(value.type().dtype, sizes);
  if (type == value.type()) return value;
  return engine::record_to_shape(ir::Op::expand, value, engine::TypeRef::make(std::move(type)), where);
}

engine::Value reshape(const engine::Value& value, std::span<const std::int64_t> sizes, ir::Location where) {
  ir::Type type = make_type(value.type().dtype, sizes);
  if (type == value.type()) return value;
  return engine::record_to_shape(ir::Op::reshape, value, engine::TypeRef::make(std::move(type)), where);
}

engine::Value permute(const engine::Value& value, std::span<const std::uint8_t> order, ir::Location where) {
  bool identity = true;
  for (std::size_t i = 0; i < order.size(); ++i) identity &= order[i] == i;
  if (identity) return value;
  return engine::record(ir::Op::permute, {&value, 1}, ir::Permutation{{order.begin(), order.end()}}, where);
}

ir::Literal to_literal(Scalar scalar, DType type) {
  return scalar.is_floating() || scalar.is_complex() ? ir::literal(type, scalar.to_double()) : ir::literal(type, scalar.to_int());
}

namespace {

// Of a complex type both parts, side by side.
template <class Make>
engine::Value number(Scalar scalar, DType type, Make make) {
  if (!is_complex(type)) return make(to_literal(scalar, type));
  const std::complex<double> z = scalar.to_complex();
  const std::int64_t one[] = {1};
  const engine::Value parts[] = {reshape(make(to_literal(z.real(), component_type(type))), one, {}),
                                 reshape(make(to_literal(z.imag(), component_type(type))), one, {})};
  return engine::record(ir::Op::concat, parts, ir::Concat{0, 2}, {});
}

}  // namespace

engine::Value scalar_value(Scalar scalar, DType type) { return number(scalar, type, engine::scalar_argument); }
engine::Value constant_value(Scalar scalar, DType type) { return number(scalar, type, engine::constant); }

}  // namespace braze
