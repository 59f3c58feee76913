// Scans, sorting and counting as methods of Tensor; braze/sorting.h says what each computes.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "braze/scalar.h"
#include "braze/sizes.h"

namespace braze {

class In;
class Tensor;

class SortingMethods {
 public:
 protected:
  ~SortingMethods() = default;  // a base of Tensor, never used alone
};

}  // namespace braze
