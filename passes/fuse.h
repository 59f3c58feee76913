// What fusion does before and after it groups; used by fuse.cpp only.
#pragma once

#include <optional>
#include <vector>

#include "passes/passes.h"

namespace braze::passes {

// A reduction whose axes do not stand together becomes two: over its last run of adjacent axes, then over the others, which is
// the order that such a reduction has. Halves accumulate f32 throughout and round once. A graph without one stays as it is.
ir::Graph split_mixed_reductions(ir::Graph graph);

// A dot of which only the transpose is read, as the gradient of a layer's weight is, becomes the dot that gives it, and one whose rows are
// read as the last axis, as the gradient of an attention's keys is, becomes the one whose columns are: each element is the same sum in the
// same order. What goes on from it, an update of the weight, can then be part of its kernel.
ir::Graph turn_dots(ir::Graph graph);

// Elementwise ops of a dot seen in another shape are computed in the dot's, where they can be part of its kernel.
ir::Graph sink_reshapes(ir::Graph graph);

// The graph anew, with `replaced(to, id, operands)` in a node's place where that is a value; `operands` are in `to`.
template <class F>
ir::Graph rebuilt(const ir::Graph& graph, F replaced) {
  ir::Graph to;
  to.name = graph.name;
  to.symbols = graph.symbols;
  std::vector<ir::NodeId> copy(graph.size());
  std::vector<ir::Value> in;
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    const ir::Node& node = graph[id];
    in.clear();
    for (const ir::Value v : node.in) in.push_back({copy[v.node], v.result});
    if (node.op == ir::Op::parameter) {
      const auto& parameter = node.as<ir::Parameter>();
      copy[id] = to.parameter({parameter.type, parameter.shape}, parameter.kind, graph.parameter_name(parameter.number)).node;
    } else if (const std::optional<ir::Value> other = replaced(to, id, in)) {
      copy[id] = other->node;
    } else {
      copy[id] = to.add(node.op, in, *node.attributes, node.location);
    }
  }
  for (const ir::Value v : graph.results) to.results.push_back({copy[v.node], v.result});
  return to;
}

// Puts groups that can run in this order into one in which they need less memory, for symbols of these values.
void order_groups(const ir::Graph& graph, std::vector<Group>& groups, const std::vector<std::int64_t>& sizes);

// Names each group by what it computes, briefly, no two alike.
void name_groups(const ir::Graph& graph, std::vector<Group>& groups);

}  // namespace braze::passes
