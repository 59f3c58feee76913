// A reduction that the kernel of a dot can do beside it: of one of its factors, over k. The gradient of a layer's bias is one, of what the
// dot that gives the gradient of the layer's weight reads: both sum over the rows of a batch.
#pragma once

#include <optional>

#include "passes/affine.h"
#include "passes/nest.h"

namespace braze::passes {

struct FactorReduction {
  bool left;          // the factor, whose rows are left; or else the right one's columns
  ReduceOrder order;  // as the reduction's own operand lies
};

// Of a dot without batches that is no sum of products (DotAxes). The reduction's operand has the factor's elements: it is the same value in
// memory behind reshapes, and the factor may be its transpose.
std::optional<FactorReduction> factor_reduction(const ir::Graph& graph, const Extents& extents, ir::NodeId dot,
                                                ir::NodeId reduction);

}  // namespace braze::passes
