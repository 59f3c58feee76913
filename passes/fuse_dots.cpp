#include <numeric>
#include <utility>
#include <vector>

#include "passes/fuse.h"

namespace braze::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Value;

namespace {

std::vector<std::uint8_t> swap_of_last_two(std::size_t rank) {
  std::vector<std::uint8_t> order(rank);
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::swap(order[rank - 2], order[rank - 1]);
  return order;
}

bool swaps_last_two(const Node& node, std::size_t rank) {
  return node.op == Op::permute && rank >= 2 && std::ranges::equal(node.as<ir::Permutation>().order, swap_of_last_two(rank));
}

Value transposed(Graph& to, Value value, ir::Location location) {
  const std::size_t rank = to.type(value).shape.size();
  if (swaps_last_two(to.node(value), rank)) return to.node(value).in[0];
  const Value operands[] = {value};
  ir::Permutation swap;
  for (const std::uint8_t axis : swap_of_last_two(rank)) swap.order.push_back(axis);
  return {to.add(Op::permute, operands, swap, location), 0};
}

}  // namespace

Graph turn_dots(Graph graph) {
  std::vector<std::uint32_t> uses = graph.use_counts();
  for (const Value result : graph.results) ++uses[result.node];
  // The dot's rows become the last axis: turned, it gives them side by side.
  const auto turns = [&](NodeId id) {
    const Node& node = graph[id];
    if (node.op != Op::permute || graph.node(node.in[0]).op != Op::dot || uses[node.in[0].node] != 1) return false;
    const auto& order = node.as<ir::Permutation>().order;
    return order[order.size() - 1] == order.size() - 2;
  };
  bool any = false;
  for (NodeId id = 0; id < graph.size() && !any; ++id) any = turns(id);
  if (!any) return graph;
  return rebuilt(graph, [&](Graph& to, NodeId id, std::span<const Value> in) -> std::optional<Value> {
    if (!turns(id)) return std::nullopt;
    const Node& dot = to.node(in[0]);
    const Value left = dot.in[0], right = dot.in[1];
    const ir::Location location = dot.location;
    const auto order = dot.as<ir::Dot>();
    const Value factors[] = {transposed(to, right, location), transposed(to, left, location)};
    const Value turned{to.add(Op::dot, factors, order, location), 0};
    if (swaps_last_two(graph[id], graph[id].out[0].shape.size())) return turned;
    ir::Permutation rest = graph[id].as<ir::Permutation>();
    const std::size_t rank = rest.order.size();
    for (std::uint8_t& axis : rest.order)
      if (axis + 2u >= rank) axis = static_cast<std::uint8_t>(2 * rank - 3 - axis);
    const Value operands[] = {turned};
    return Value{to.add(Op::permute, operands, rest, graph[id].location), 0};
  });
}

}  // namespace braze::passes
