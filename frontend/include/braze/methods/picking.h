// Picking elements by index or mask, and writing to them, as methods of Tensor; braze/picking.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class PickingMethods {
 public:
 protected:
  ~PickingMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
