// Elements of a routine's arrays: what a dtype is in C++, and how halves compute.
#pragma once

#include <cmath>
#include <type_traits>

#include "ir/scalar.h"

namespace braze::runtime::routines {

inline float wide(Float16 x) { return to_f32(x); }
inline float wide(BFloat16 x) { return to_f32(x); }
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T wide(T x) {
  return x;
}

template <class T, class W>
T narrow(W x) {
  if constexpr (std::same_as<T, Float16>)
    return to_f16(x);
  else if constexpr (std::same_as<T, BFloat16>)
    return to_bf16(x);
  else
    return static_cast<T>(x);
}

template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T> || std::same_as<T, Float16> || std::same_as<T, BFloat16>;

template <class T>
bool is_nan(T x) {
  if constexpr (is_real<T>)
    return std::isnan(wide(x));
  else
    return false;
}

}  // namespace braze::runtime::routines
