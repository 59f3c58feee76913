#include <algorithm>
#include <vector>

#include "passes/fuse.h"
#include "passes/groups.h"

namespace braze::passes {

using ir::Graph;
using ir::NodeId;
using ir::Op;
using ir::Value;

namespace {

// The mask's last run of adjacent axes.
std::uint64_t last_run(std::uint64_t mask) {
  int axis = 63;
  while (!(mask >> axis & 1)) --axis;
  std::uint64_t run = 0;
  for (; axis >= 0 && (mask >> axis & 1); --axis) run |= std::uint64_t{1} << axis;
  return run;
}

// Appends a mixed reduction of `operand` as reductions of one run each.
Value reduce_by_runs(Graph& to, const ir::Node& node, Value operand) {
  const DType type = node.out[0].dtype;
  const auto add = [&](Op op, Value in, ir::Attributes attributes) {
    const Value operands[] = {in};
    return Value{to.add(op, operands, std::move(attributes), node.location), 0};
  };
  if (is_half(type)) operand = add(Op::cast, operand, ir::Cast{compute_type(type)});
  for (std::uint64_t mask = node.as<ir::Reduced>().mask; mask != 0;) {
    const std::uint64_t run = last_run(mask);
    operand = add(node.op, operand, ir::Reduced{run});
    mask &= ~run;
  }
  if (is_half(type)) operand = add(Op::cast, operand, ir::Cast{type});
  return operand;
}

}  // namespace

bool is_mixed(const ir::Node& node) {
  if (!ir::info(node.op).reduction()) return false;
  const std::uint64_t mask = node.as<ir::Reduced>().mask;
  return mask != 0 && last_run(mask) != mask;
}

Graph split_mixed_reductions(Graph graph) {
  bool any = false;
  for (NodeId id = 0; id < graph.size() && !any; ++id) any = is_mixed(graph[id]);
  if (!any) return graph;
  return rebuilt(graph, [&](Graph& to, NodeId id, std::span<const Value> in) -> std::optional<Value> {
    if (!is_mixed(graph[id])) return std::nullopt;
    return reduce_by_runs(to, graph[id], in[0]);
  });
}

}  // namespace braze::passes
