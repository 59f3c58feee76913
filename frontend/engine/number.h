// A number as an operand of an op on tensors: recorded without inferring what is known, because most ops that users write have one.
#pragma once

#include "frontend/engine/node.h"
#include "ir/graph.h"

namespace braze::engine {

// `value`, a scalar argument, expanded to `type`, which has its dtype.
Value number(ir::Literal value, TypeRef type, ir::Location location);

}  // namespace braze::engine
