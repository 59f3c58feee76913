// Products and linear algebra as methods of Tensor; braze/linalg.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class LinalgMethods {
 public:
  Tensor matmul(const In& other) const;
  Tensor mm(const In& other) const;
  Tensor bmm(const In& other) const;

 protected:
  ~LinalgMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
