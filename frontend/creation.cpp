// Tensors from nothing, from numbers and from files.
#include <cmath>
#include <cstring>

#include "braze/functions.h"
#include "frontend/promotion.h"
#include "frontend/tensor_impl.h"
#include "runtime/npy.h"
#include "runtime/threads.h"

namespace braze {

namespace {

DType type_or_default(const TensorOptions& options) { return options.dtype.value_or(get_default_dtype()); }

Tensor filled(SizesView sizes, const engine::Value& value) {
  checked_numel(sizes);
  return wrap(expand(value, sizes, {}));
}

// 0, 1, ..., n - 1 in `type`.
engine::Value iota(std::int64_t n, DType type) {
  return cast(engine::record(ir::Op::iota, {}, ir::ToShape{{n}}, {}), type, {});
}

engine::Value scaled(const engine::Value& index, const engine::Value& start, const engine::Value& step) {
  const Dims sizes = sizes_of(index.type());
  const engine::Value factors[] = {index, expand(step, sizes, {})};
  const engine::Value terms[] = {expand(start, sizes, {}), engine::record(ir::Op::mul, factors, {})};
  return engine::record(ir::Op::add, terms, {});
}

// ---- nested data ----

void measure(const NestedData& data, std::size_t depth, Dims& sizes, bool& is_first_path) {
  if (!data.is_list()) {
    is_first_path = false;
    return;
  }
  if (is_first_path) sizes.push_back(static_cast<std::int64_t>(data.list().size()));
  require<ValueError>(depth < sizes.size(), "too many dimensions: expected a number at depth {}, not a list", depth);
  require<ValueError>(static_cast<std::int64_t>(data.list().size()) == sizes[depth],
                      "expected sequence of length {} at dim {} (got {})", sizes[depth], depth, data.list().size());
  if (data.list().empty()) is_first_path = false;
  for (const NestedData& item : data.list()) {
    require<ValueError>(item.is_list() || is_first_path || depth + 1 == sizes.size(), "expected sequence of length {} at dim {} (got a number)",
                        depth + 1 < sizes.size() ? sizes[depth + 1] : 0, depth + 1);
    measure(item, depth + 1, sizes, is_first_path);
  }
}

void gather(const NestedData& data, std::vector<Scalar>& out) {
  if (!data.is_list()) return out.push_back(data.scalar());
  for (const NestedData& item : data.list()) gather(item, out);
}

DType common_type(std::span<const Scalar> values) {
  if (values.empty()) return get_default_dtype();
  DType type = DType::boolean;
  for (const Scalar& v : values) type = v.is_floating() || is_float(type) ? get_default_dtype() : promote_types(type, scalar_dtype(v));
  return type;
}

}  // namespace

Tensor from_bytes(const void* data, SizesView sizes, DType dtype) {
  const std::int64_t bytes = checked_numel(sizes) * size_of(dtype);
  runtime::Block block = runtime::Block::allocate(bytes);
  if (bytes > 0) std::memcpy(block.data(), data, static_cast<std::size_t>(bytes));
  return wrap(engine::leaf(engine::TypeRef::make(make_type(dtype, sizes)), std::move(block)));
}

Tensor from_blob(void* data, SizesView sizes, SizesView strides, DType dtype, std::function<void()> deleter, Access access) {
  require(sizes.size() == strides.size(), "from_blob: mismatch in length of strides and shape: {} and {}", sizes_text(strides),
          sizes_text(sizes));
  const std::int64_t count = checked_numel(sizes);
  require<ValueError>(data != nullptr || count == 0, "from_blob: sizes {} at a null pointer", sizes_text(sizes));
  std::int64_t elements = count == 0 ? 0 : 1;
  for (std::size_t i = 0; i < sizes.size() && count > 0; ++i) {
    require<ValueError>(strides[i] >= 0, "from_blob: negative strides are not supported: {}", sizes_text(strides));
    elements += (sizes[i] - 1) * strides[i];
  }
  runtime::Block block = runtime::Block::borrow(data, elements * size_of(dtype), std::move(deleter), access == Access::frozen);
  const std::int64_t flat[] = {elements};
  auto storage = StoragePointer::adopt(
      new Storage(engine::leaf(engine::TypeRef::make(make_type(dtype, flat)), std::move(block)), access == Access::frozen));
  if (access == Access::shared) storage->share();
  const Tensor base = Tensor::adopt(new TensorImpl(storage, storage->value().type_ref()));
  return make_view(base, {0, Dims(sizes.begin(), sizes.end()), Dims(strides.begin(), strides.end())});
}

Tensor from_blob(void* data, SizesView sizes, DType dtype, std::function<void()> deleter, Access access) {
  checked_numel(sizes);
  const Dims strides = contiguous_strides(sizes);
  return from_blob(data, sizes, std::span<const std::int64_t>(strides), dtype, std::move(deleter), access);
}

Tensor tensor(const NestedData& data, TensorOptions options) {
  Dims sizes;
  bool is_first_path = true;
  measure(data, 0, sizes, is_first_path);
  std::vector<Scalar> values;
  gather(data, values);
  const DType type = options.dtype.value_or(common_type(values));
  const std::size_t element = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(values.size() * element);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = to_literal(values[i], type).bits;
    std::memcpy(bytes.data() + i * element, &bits, element);
  }
  return from_bytes(bytes.data(), std::span<const std::int64_t>(sizes), type);
}

Tensor zeros(SizesView sizes, TensorOptions options) { return filled(sizes, engine::constant(to_literal(0, type_or_default(options)))); }
Tensor ones(SizesView sizes, TensorOptions options) { return filled(sizes, engine::constant(to_literal(1, type_or_default(options)))); }
// Braze has no uninitialised memory to give: an empty tensor is zero.
Tensor empty(SizesView sizes, TensorOptions options) { return zeros(sizes, options); }

Tensor full(SizesView sizes, Scalar value, TensorOptions options) {
  return filled(sizes, scalar_value(value, options.dtype.value_or(scalar_dtype(value))));
}

Tensor zeros_like(const Tensor& other) { return zeros(other.sizes(), {other.dtype()}); }
Tensor ones_like(const Tensor& other) { return ones(other.sizes(), {other.dtype()}); }
Tensor full_like(const Tensor& other, Scalar value) { return full(other.sizes(), value, {other.dtype()}); }

Tensor arange(Scalar end, TensorOptions options) { return arange(0, end, 1, options); }

// https://pytorch.org/docs/stable/generated/torch.arange.html
Tensor arange(Scalar start, Scalar end, Scalar step, TensorOptions options) {
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  require<ValueError>(by != 0, "step must be nonzero");
  require<ValueError>(std::isfinite(from) && std::isfinite(to), "unsupported range: {} -> {}", from, to);
  require<ValueError>((by > 0 && to >= from) || (by < 0 && to <= from), "upper bound and lower bound inconsistent with step sign: {} -> {} by {}", from,
                      to, by);
  const bool integral = !start.is_floating() && !end.is_floating() && !step.is_floating();
  const DType type = options.dtype.value_or(integral ? DType::i64 : get_default_dtype());
  // Counted in integers where all are: doubles would round past 2^53.
  const double counted = std::ceil((to - from) / by);
  require<ShapeError>(counted < 9.2e18, "arange from {} to {} by {} has more elements than 64 bits can count", from, to, by);
  std::int64_t n = static_cast<std::int64_t>(counted);
  if (integral) {
    const __int128 span = static_cast<__int128>(end.to_int()) - start.to_int(), one = step.to_int();
    n = static_cast<std::int64_t>((span + one + (one > 0 ? -1 : 1)) / one);
  }
  const DType computed = integral ? DType::i64 : DType::f64;
  return wrap(cast(scaled(iota(n, computed), scalar_value(start, computed), scalar_value(step, computed)), type, {}));
}

// Counts from the nearer end, as PyTorch does, so that both ends are exact.
Tensor linspace(double start, double end, std::int64_t steps, TensorOptions options) {
  require<ValueError>(steps >= 0, "number of steps must be non-negative, not {}", steps);
  const DType type = type_or_default(options);
  if (steps == 0) return zeros({0}, {type});
  if (steps == 1) return full({1}, start, {type});
  const DType computed = is_half(type) || !is_float(type) ? DType::f32 : type;
  const double step = computed == DType::f32 ? static_cast<double>((static_cast<float>(end) - static_cast<float>(start)) / static_cast<float>(steps - 1))
                                             : (end - start) / static_cast<double>(steps - 1);
  const Tensor index = wrap(iota(steps, DType::i64));
  const Tensor low = wrap(scaled(iota(steps, computed), scalar_value(start, computed), scalar_value(step, computed)));
  const Tensor left = (steps - 1 - index).to(computed);
  const Tensor high = end - left * step;
  return where(index < steps / 2, low, high).to(type);
}

Tensor eye(std::int64_t n, TensorOptions options) { return eye(n, n, options); }
Tensor eye(std::int64_t n, std::int64_t m, TensorOptions options) {
  require<ValueError>(n >= 0 && m >= 0, "n and m must not be negative, got {} and {}", n, m);
  const Tensor rows = wrap(iota(n, DType::i64)).unsqueeze(1), columns = wrap(iota(m, DType::i64));
  return (rows == columns).to(type_or_default(options));
}

// ---- files ----

Tensor load_npy(const std::string& path) {
  runtime::Array array = runtime::load_npy(path);
  const std::int64_t count = checked_numel(array.sizes);
  const std::int64_t bytes = count * size_of(array.type);
  runtime::Block held = array.block;
  const bool read_only = held ? held.read_only() : false;
  runtime::Block block = runtime::Block::borrow(array.data, bytes, [held] {}, read_only);
  const std::int64_t flat[] = {count};
  const Tensor base = wrap(engine::leaf(engine::TypeRef::make(make_type(array.type, flat)), std::move(block)));
  return make_view(base, {0, Dims(array.sizes.begin(), array.sizes.end()), Dims(array.strides.begin(), array.strides.end())});
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  runtime::Array array;
  array.type = dense.dtype();
  array.sizes = dense.sizes();
  array.strides = dense.strides();
  array.data = const_cast<void*>(dense.data());
  runtime::save_npy(path, array);
}

void set_num_threads(int count) { runtime::set_num_threads(count); }
int get_num_threads() { return runtime::num_threads(); }

}  // namespace braze
