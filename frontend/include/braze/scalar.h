// Scalar: a C++ number on its way into an operation. It promotes weakly: it changes an operand's dtype only when its category
// (bool < integer < float) is higher. https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "braze/dtype.h"

namespace braze {

class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, floating };

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

  Kind kind() const { return kind_; }
  bool is_floating() const { return kind_ == Kind::floating; }
  double to_double() const { return is_floating() ? floating_ : static_cast<double>(integer_); }
  std::int64_t to_int() const { return is_floating() ? static_cast<std::int64_t>(floating_) : integer_; }
  bool operator==(double value) const { return to_double() == value; }

 private:
  Kind kind_ = Kind::integer;
  union {
    std::int64_t integer_;
    double floating_;
  };
};

}  // namespace braze
