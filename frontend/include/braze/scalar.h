// Scalar: a C++ number on its way into an operation. It promotes weakly: it changes an operand's dtype only when its category
// (bool < integer < float < complex) is higher. https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "braze/dtype.h"

namespace braze {

class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, floating, complex };

  Scalar() : Scalar(0) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value) {  // NOLINT: a number is a scalar
    if constexpr (std::same_as<T, bool>) {
      kind_ = Kind::boolean;
      integer_ = value;
    } else if constexpr (std::integral<T>) {
      kind_ = Kind::integer;
      integer_ = static_cast<std::int64_t>(value);
    } else {
      kind_ = Kind::floating;
      floating_ = static_cast<double>(value);
    }
  }

  template <std::floating_point T>
  Scalar(std::complex<T> value)  // NOLINT
      : kind_(Kind::complex), floating_(static_cast<double>(value.real())), imaginary_(static_cast<double>(value.imag())) {}

  Kind kind() const { return kind_; }
  bool is_floating() const { return kind_ == Kind::floating; }
  bool is_complex() const { return kind_ == Kind::complex; }
  // As a number without an imaginary part. Throw Error where there is one.
  double to_double() const { return kind_ < Kind::floating ? static_cast<double>(integer_) : real_part("double"); }
  std::int64_t to_int() const { return kind_ < Kind::floating ? integer_ : static_cast<std::int64_t>(real_part("int64_t")); }
  std::complex<double> to_complex() const {
    return {kind_ < Kind::floating ? static_cast<double>(integer_) : floating_, imaginary_};
  }
  bool operator==(double value) const { return to_complex() == value; }

 private:
  double real_part(const char* wanted) const {
    if (imaginary_ != 0) refuse(wanted);
    return floating_;
  }
  [[noreturn]] static void refuse(const char* wanted);

  Kind kind_ = Kind::integer;
  union {
    std::int64_t integer_;
    double floating_;
  };
  double imaginary_ = 0;
};

}  // namespace braze
