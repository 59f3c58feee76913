// Tensors from nothing, from numbers and from files.
#include <cstdlib>
#include <cstring>
#include <limits>

#include "braze/functions.h"
#include "frontend/promotion.h"
#include "frontend/view_layout.h"
#include "runtime/npy.h"
#include "runtime/threads.h"

namespace braze {

namespace {

DType type_or_default(const TensorOptions& options) { return options.dtype.value_or(get_default_dtype()); }

// `value` is one element of `dtype`.
Tensor filled(SizesView sizes, const engine::Value& value, DType dtype) {
  checked_numel(sizes);
  return wrap(expand(value, value_sizes(dtype, sizes), {}), dtype);
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
    require<ValueError>(item.is_list() || is_first_path || depth + 1 == sizes.size(),
                        "expected sequence of length {} at dim {} (got a number)", depth + 1 < sizes.size() ? sizes[depth + 1] : 0,
                        depth + 1);
    measure(item, depth + 1, sizes, is_first_path);
  }
}

void gather(const NestedData& data, std::vector<Scalar>& out) {
  if (!data.is_list()) return out.push_back(data.scalar());
  for (const NestedData& item : data.list()) gather(item, out);
}

void write_number(Scalar value, DType type, std::byte* to) {
  if (is_complex(type)) {
    const std::complex<double> z = value.to_complex();
    const DType part = component_type(type);
    write_number(z.real(), part, to);
    return write_number(z.imag(), part, to + size_of(part));
  }
  const std::uint64_t bits = to_literal(value, type).bits;
  std::memcpy(to, &bits, static_cast<std::size_t>(size_of(type)));
}

DType common_type(std::span<const Scalar> values) {
  if (values.empty()) return get_default_dtype();
  DType type = DType::boolean;
  for (const Scalar& v : values) type = promote_types(type, scalar_dtype(v));
  return type;
}

}  // namespace

Tensor from_bytes(const void* data, SizesView sizes, DType dtype) {
  const std::int64_t bytes = checked_numel(sizes) * size_of(dtype);
  runtime::Block block = runtime::Block::allocate(bytes);
  if (bytes > 0) std::memcpy(block.data(), data, static_cast<std::size_t>(bytes));
  return wrap(engine::leaf(engine::TypeRef::make(make_type(component_type(dtype), value_sizes(dtype, sizes))), std::move(block)),
              dtype);
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
  const std::int64_t flat[] = {elements * (is_complex(dtype) ? 2 : 1)};
  auto storage = StoragePointer::adopt(new Storage(
      engine::leaf(engine::TypeRef::make(make_type(component_type(dtype), flat)), std::move(block)), access == Access::frozen));
  if (access == Access::shared) storage->share();
  return on_storage(std::move(storage), dtype, {0, Dims(sizes.begin(), sizes.end()), Dims(strides.begin(), strides.end())});
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
    write_number(values[i], type, bytes.data() + i * element);
  }
  return from_bytes(bytes.data(), std::span<const std::int64_t>(sizes), type);
}

// ---- constants ----

Tensor zeros(SizesView sizes, TensorOptions options) {
  const DType type = type_or_default(options);
  return filled(sizes, constant_value(0, type), type);
}
Tensor ones(SizesView sizes, TensorOptions options) {
  const DType type = type_or_default(options);
  return filled(sizes, constant_value(1, type), type);
}

Tensor full(SizesView sizes, Scalar value, TensorOptions options) {
  const DType type = options.dtype.value_or(scalar_dtype(value));
  return filled(sizes, scalar_value(value, type), type);
}

Tensor scalar_tensor(Scalar value, TensorOptions options) { return full({}, value, {type_or_default(options)}); }

namespace {

// What stands for memory that nobody wrote to.
engine::Value unwritten(DType type) {
  static const bool fill = [] {
    const char* text = std::getenv("BRAZE_FILL");
    require<ValueError>(!text || std::string_view(text) == "nan", "BRAZE_FILL must be nan, not '{}'", text ? text : "");
    return text != nullptr;
  }();
  if (!fill) return constant_value(0, type);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (is_complex(type)) return constant_value(std::complex<double>(nan, nan), type);
  if (is_float(type)) return engine::constant(to_literal(nan, type));
  if (type == DType::boolean) return engine::constant(to_literal(true, type));
  const int bits = size_of(type) * 8 - is_signed(type);
  return engine::constant(to_literal(static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1), type));
}

// A dense tensor of one value, laid out by strides.
Tensor laid_out(const engine::Value& value, DType dtype, std::span<const std::int64_t> sizes, const Dims& strides) {
  const std::int64_t flat[] = {checked_numel(sizes)};
  return on_storage(StoragePointer::adopt(new Storage(expand(value, value_sizes(dtype, flat), {}), false)), dtype,
                    {0, Dims(sizes), strides});
}

Tensor filled_like(const Tensor& other, const engine::Value& value, DType dtype, MemoryFormat format) {
  const Geometry g = checked(other).layout();
  return laid_out(value, dtype, g.sizes, format_strides(g, format));
}

DType type_like(const Tensor& other, const TensorOptions& options) { return options.dtype.value_or(checked(other).dtype()); }

}  // namespace

Tensor empty(SizesView sizes, TensorOptions options, MemoryFormat format) {
  const Geometry g{0, Dims(sizes.begin(), sizes.end()), contiguous_strides(sizes)};
  checked_numel(sizes);
  const DType type = type_or_default(options);
  return laid_out(unwritten(type), type, sizes, format_strides(g, format));
}

Tensor empty_strided(SizesView sizes, SizesView strides, TensorOptions options) {
  require(sizes.size() == strides.size(), "mismatch in length of strides and shape");
  const std::int64_t count = checked_numel(sizes);
  std::int64_t elements = count == 0 ? 0 : 1;
  for (std::size_t i = 0; i < sizes.size() && count > 0; ++i) {
    require(strides[i] >= 0, "empty_strided: Negative strides are not supported at the moment, got strides: {}",
            sizes_text(strides));
    std::int64_t reach = 0;
    require<ShapeError>(
        !__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) && !__builtin_add_overflow(elements, reach, &elements),
        "empty_strided: sizes {} and strides {} reach past 64 bits", sizes_text(sizes), sizes_text(strides));
  }
  const std::int64_t flat[] = {elements};
  const DType type = type_or_default(options);
  return on_storage(StoragePointer::adopt(new Storage(expand(unwritten(type), value_sizes(type, flat), {}), false)), type,
                    {0, Dims(sizes.begin(), sizes.end()), Dims(strides.begin(), strides.end())});
}

Tensor zeros_like(const Tensor& other, TensorOptions options, MemoryFormat format) {
  const DType type = type_like(other, options);
  return filled_like(other, constant_value(0, type), type, format);
}
Tensor ones_like(const Tensor& other, TensorOptions options, MemoryFormat format) {
  const DType type = type_like(other, options);
  return filled_like(other, constant_value(1, type), type, format);
}
Tensor full_like(const Tensor& other, Scalar value, TensorOptions options, MemoryFormat format) {
  const DType type = type_like(other, options);
  return filled_like(other, scalar_value(value, type), type, format);
}
Tensor empty_like(const Tensor& other, TensorOptions options, MemoryFormat format) {
  const DType type = type_like(other, options);
  return filled_like(other, unwritten(type), type, format);
}

Tensor ShapingMethods::new_empty(SizesView sizes, std::optional<DType> dtype) const {
  return empty(sizes, {dtype.value_or(self_of(this).dtype())});
}
Tensor ShapingMethods::new_empty_strided(SizesView sizes, SizesView strides, std::optional<DType> dtype) const {
  return empty_strided(sizes, strides, {dtype.value_or(self_of(this).dtype())});
}
Tensor ShapingMethods::new_zeros(SizesView sizes, std::optional<DType> dtype) const {
  return zeros(sizes, {dtype.value_or(self_of(this).dtype())});
}
Tensor ShapingMethods::new_ones(SizesView sizes, std::optional<DType> dtype) const {
  return ones(sizes, {dtype.value_or(self_of(this).dtype())});
}
Tensor ShapingMethods::new_full(SizesView sizes, Scalar value, std::optional<DType> dtype) const {
  return full(sizes, value, {dtype.value_or(self_of(this).dtype())});
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
  return on_storage(base.impl()->storage, array.type,
                    {0, Dims(array.sizes.begin(), array.sizes.end()), Dims(array.strides.begin(), array.strides.end())});
}

void save_npy(const std::string& path, const Tensor& tensor) {
  require<TypeError>(!is_complex(tensor.dtype()), "save_npy: {} is not supported; save view_as_real(x)",
                     info(tensor.dtype()).torch_name);
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
