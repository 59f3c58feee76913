// Joining, repeating and padding as methods of Tensor; braze/shaping.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class ShapingMethods {
 public:
 protected:
  ~ShapingMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
