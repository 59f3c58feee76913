// Element types under PyTorch's names. https://pytorch.org/docs/stable/tensor_attributes.html
// complex64 and complex128 stand beside them (ir/dtype.h): pairs of float32 and of float64, real part first, as std::complex.
#pragma once

#include <complex>

#include "ir/dtype.h"

namespace braze {

inline constexpr DType bool_ = DType::boolean, uint8 = DType::u8, int8 = DType::i8, int16 = DType::i16, int32 = DType::i32,
                       int64 = DType::i64, float16 = DType::f16, bfloat16 = DType::bf16, float32 = DType::f32, float64 = DType::f64;

// PyTorch's short names; where C++ has the word for itself, with a `_`.
inline constexpr DType half = float16, float_ = float32, double_ = float64, short_ = int16, int_ = int32, long_ = int64,
                       cfloat = complex64, cdouble = complex128;

// Every dtype of the surface.
inline constexpr std::array<DType, surface_dtype_count> surface_dtypes = {DType::boolean, DType::u8,  DType::i8,  DType::i16,
                                                                          DType::i32,     DType::i64, DType::f16, DType::bf16,
                                                                          DType::f32,     DType::f64, complex64,  complex128};

// The DType of a C++ type: bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, std::complex of float and double.
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<std::int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<std::int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}

template <>
constexpr DType dtype_of<std::complex<float>>() {
  return complex64;
}
template <>
constexpr DType dtype_of<std::complex<double>>() {
  return complex128;
}

// The dtype of an operation on both, as torch.promote_types: never a loss of category (bool < integer < float < complex).
DType promote_types(DType a, DType b);

// Whether a result of `from` may be written into a tensor of `to`: no fall of category (bool < integer < float < complex).
// https://pytorch.org/docs/stable/generated/torch.can_cast.html
bool can_cast(DType from, DType to);

// The limits of a floating type, or of a complex type's parts. Throws TypeError for others. https://pytorch.org/docs/stable/type_info.html
struct FloatInfo {
  int bits;
  double eps, max, min, tiny, smallest_normal, resolution;
  DType dtype;
};
FloatInfo finfo(DType dtype);

// The limits of an integer type. Throws TypeError for floating types and bool.
struct IntegerInfo {
  int bits;
  std::int64_t max, min;
  DType dtype;
};
IntegerInfo iinfo(DType dtype);

// What floating-point literals become: float32 until changed; complex numbers become the complex type of such parts. Throws
// TypeError unless `dtype` is floating.
DType get_default_dtype();
void set_default_dtype(DType dtype);

}  // namespace braze
