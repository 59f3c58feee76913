#include "frontend/promotion.h"

#include <array>
#include <atomic>
#include <cmath>

#include "braze/elementwise.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

std::atomic<DType> default_dtype{DType::f32};

// Accumulates one rank of operands.
struct Rank {
  std::optional<DType> type;
  void add(DType t) { type = type ? promote_types(*type, t) : t; }
};

std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_float(*higher) && is_complex(*lower)) return complex_type(*higher);
  return category(*higher) < category(*lower) ? lower : higher;
}

}  // namespace

int category(DType type) { return type == DType::boolean ? 0 : is_complex(type) ? 3 : is_float(type) ? 2 : 1; }
int category(Scalar number) { return static_cast<int>(number.kind()); }

DType get_default_dtype() { return default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  require<TypeError>(is_float(dtype), "only floating-point types are supported as the default type, not {}",
                     info(dtype).torch_name);
  default_dtype.store(dtype, std::memory_order_relaxed);
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = component_type(a) == DType::f64 || component_type(b) == DType::f64;
    return wide ? complex128 : complex64;
  }
  if (category(a) != category(b)) return category(a) < category(b) ? b : a;
  if (is_float(a)) {
    if (is_half(a) && is_half(b)) return DType::f32;
    return size_of(a) < size_of(b) ? b : a;
  }
  // u8 holds what no i8 does, and the reverse: the next wider type holds both.
  if ((a == DType::u8 && b == DType::i8) || (a == DType::i8 && b == DType::u8)) return DType::i16;
  return size_of(a) < size_of(b) ? b : a;
}

DType scalar_dtype(Scalar scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::boolean:
      return DType::boolean;
    case Scalar::Kind::integer:
      return DType::i64;
    case Scalar::Kind::complex:
      return complex_type(get_default_dtype());
    case Scalar::Kind::floating:
      break;
  }
  return get_default_dtype();
}

void require_convertible(Scalar value, DType dtype) {
  if (!is_complex(dtype)) static_cast<void>(to_literal(value, dtype));
}

void Scalar::refuse(const char* wanted) { fail("value cannot be converted to type {} without overflow", wanted); }

DType to_floating(DType type) { return is_float(type) || is_complex(type) ? type : get_default_dtype(); }

DType result_type(std::span<const In* const> operands) {
  Rank with_dims, without_dims, numbers;
  for (const In* operand : operands) {
    if (operand->is_scalar())
      numbers.add(scalar_dtype(operand->scalar()));
    else if (checked(operand->tensor()).type->rank() > 0)
      with_dims.add(operand->tensor().dtype());
    else
      without_dims.add(operand->tensor().dtype());
  }
  return *combine(with_dims.type, combine(without_dims.type, numbers.type));
}

DType result_type(const In& a, const In& b) {
  const In* operands[] = {&a, &b};
  return result_type(operands);
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

FloatInfo finfo(DType type) {
  const DType dtype = component_type(type);
  require<TypeError>(is_float(dtype),
                     "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.iinfo'");
  struct Format {
    int digits, min_exponent, max_exponent;
    double resolution;
  };
  const Format f = dtype == DType::f16    ? Format{11, -14, 16, 1e-3}
                   : dtype == DType::bf16 ? Format{8, -126, 128, 1e-2}
                   : dtype == DType::f32  ? Format{24, -126, 128, 1e-6}
                                          : Format{53, -1022, 1024, 1e-15};
  const double eps = std::ldexp(1.0, 1 - f.digits), tiny = std::ldexp(1.0, f.min_exponent);
  const double max = std::ldexp(2 - eps, f.max_exponent - 1);
  return {size_of(dtype) * 8, eps, max, -max, tiny, tiny, f.resolution, dtype};
}

IntegerInfo iinfo(DType dtype) {
  require<TypeError>(is_integer(dtype), "torch.iinfo() requires an integer input type. Use torch.finfo to handle '{}'",
                     info(dtype).torch_name);
  const int bits = size_of(dtype) * 8;
  if (!is_signed(dtype)) return {bits, (std::int64_t{1} << bits) - 1, 0, dtype};
  const std::int64_t max = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  return {bits, max, -max - 1, dtype};
}

bool is_floating_point(const Tensor& x) { return is_float(x.dtype()); }
bool is_complex(const Tensor& x) { return is_complex(x.dtype()); }
bool is_signed(const Tensor& x) { return is_signed(x.dtype()); }
bool is_nonzero(const Tensor& x) { return static_cast<bool>(x); }

}  // namespace braze
