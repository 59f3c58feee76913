// What the losses' files share.
#pragma once

#include <string_view>

#include "frontend/formula.h"

namespace braze {

// Throws ValueError unless it is "mean", "sum" or "none".
void require_reduction(std::string_view reduction);
// All elements, their sum or their mean.
Tensor reduced(const Tensor& losses, std::string_view reduction);

}  // namespace braze
