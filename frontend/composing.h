// What the composites of several families share beside frontend/formula.h.
#pragma once

#include <string_view>

#include "frontend/formula.h"

namespace braze {

// The tensor of an operand that must be one.
const Tensor& require_tensor(std::string_view function, const In& x);

// The line of the SourceLine that lives.
inline ir::Location here() { return location({}); }

// Throws, in PyTorch's words, where a table that a composite makes while it records (an index or a weight for each of its results along a
// dim) would take the machine's memory: nothing is reserved before.
void require_room(double table_bytes);

// 0, 1, ..., n - 1 as int64.
Tensor positions(std::int64_t n);

}  // namespace braze
