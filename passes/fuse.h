// What fusion does before and after it groups; used by fuse.cpp only.
#pragma once

#include <vector>

#include "passes/passes.h"

namespace braze::passes {

// A reduction whose axes do not stand together becomes two: over its last run of adjacent axes, then over the others, which is
// the order that such a reduction has. Halves accumulate f32 throughout and round once. A graph without one stays as it is.
ir::Graph split_mixed_reductions(ir::Graph graph);

// Names each group by what it computes, briefly, no two alike.
void name_groups(const ir::Graph& graph, std::vector<Group>& groups);

}  // namespace braze::passes
