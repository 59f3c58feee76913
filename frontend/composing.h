// What the composites of several families share beside frontend/formula.h.
#pragma once

#include <string_view>

#include "frontend/formula.h"

namespace braze {

// The tensor of an operand that must be one.
const Tensor& require_tensor(std::string_view function, const In& x);

// The line of the SourceLine that lives.
inline ir::Location here() { return location({}); }

// 0, 1, ..., n - 1 as int64.
Tensor positions(std::int64_t n);

}  // namespace braze
