// Methods of Tensor for complex dtypes; braze/complex.h has them as functions and says what they do.
#pragma once

#include <source_location>

namespace braze {

class Tensor;

class ComplexMethods {
  using Line = std::source_location;

 public:
  Tensor real() const;
  Tensor imag() const;
  Tensor view_as_real() const;
  Tensor view_as_complex() const;
  bool is_conj() const;
  Tensor resolve_conj(Line where = Line::current()) const;
  Tensor resolve_neg() const;

 protected:
  ~ComplexMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
