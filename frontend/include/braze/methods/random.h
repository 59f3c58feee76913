// In-place draws as methods of Tensor; braze/random.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class RandomMethods {
 public:
 protected:
  ~RandomMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
