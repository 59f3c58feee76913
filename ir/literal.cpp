#include <cmath>
#include <limits>

#include "ir/error.h"
#include "ir/graph.h"
#include "ir/scalar.h"

namespace braze::ir {
namespace {

// PyTorch names the C++ type.
[[noreturn]] void overflows(DType type) {
  constexpr std::string_view names[dtype_count] = {"bool",    "uint8_t",  "int8_t",       "int16_t", "int",
                                                   "int64_t", "at::Half", "at::BFloat16", "float",   "double"};
  fail("value cannot be converted to type {} without overflow", names[static_cast<std::size_t>(type)]);
}

double largest(DType type) {
  switch (type) {
    case DType::f16:
      return 65504.0;
    case DType::bf16:
      return 0x1.fep+127;
    case DType::f32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

// The values that PyTorch takes; negative ones wrap into an unsigned type.
std::int64_t lowest(DType type) {
  return is_signed(type) ? std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(type)) : -255;
}
std::int64_t highest(DType type) { return is_signed(type) ? ~lowest(type) : 255; }

Literal of_bits(DType type, std::int64_t value) {
  return {type, static_cast<std::uint64_t>(value) & ~std::uint64_t{0} >> (64 - 8 * size_of(type))};
}

}  // namespace

Literal literal(DType type, double value) {
  if (type == DType::boolean) return {type, value != 0 ? std::uint64_t{1} : 0};
  if (is_float(type)) {
    if (std::isfinite(value) && std::fabs(value) > largest(type)) overflows(type);
    return with_type(type, [&]<class T>(std::type_identity<T>) { return Literal{type, to_bits(detail::convert<T>(value))}; });
  }
  const double whole = std::trunc(value);
  if (!(whole >= static_cast<double>(lowest(type)) && whole < static_cast<double>(highest(type)) + 1)) overflows(type);
  return of_bits(type, static_cast<std::int64_t>(whole));
}

Literal literal(DType type, std::int64_t value) {
  if (type == DType::boolean) return {type, value != 0 ? std::uint64_t{1} : 0};
  if (is_float(type)) {
    if (std::fabs(static_cast<double>(value)) > largest(type)) overflows(type);
    return with_type(type, [&]<class T>(std::type_identity<T>) { return Literal{type, to_bits(detail::convert<T>(value))}; });
  }
  if (value < lowest(type) || value > highest(type)) overflows(type);
  return of_bits(type, value);
}

}  // namespace braze::ir
