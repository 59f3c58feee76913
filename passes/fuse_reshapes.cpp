// Elementwise ops of what a dot gives, seen in another shape, are computed in the dot's own: f(reshape(d)) becomes reshape(f(d)). So the
// activation that follows a layer of a batch of sequences, and its derivative, are the end of a product's kernel rather than a pass over
// memory; a reshape of what is in memory costs nothing.
//
// A node may move if each operand can be had in the dot's shape: a reshape, a parameter, what moves too, or an expansion of what lies along
// axes that both shapes end with; and if each reader moves too or reads elements elsewhere anyway, as one behind a reshape, behind a
// transposition, or a dot does. Else it stays with the reduction, or whatever else reads it where it is. What may move is the greatest set
// for which this holds; finding it takes time linear in the graph.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/fuse.h"

namespace braze::passes {

using ir::Extent;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

namespace {

constexpr NodeId none = ~NodeId{0};
const Extent one(1);

class Sinker {
 public:
  explicit Sinker(const Graph& graph) : graph_(graph), dot_(graph.size(), none), home_(graph.size(), none), users_(graph.size()) {}

  // Whether anything moves.
  bool find() {
    for (NodeId id = 0; id < graph_.size(); ++id) classify(id);
    std::vector<NodeId> pending;
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (home_[id] != none) pending.push_back(id);
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (home_[id] == none || may_move(id)) continue;
      home_[id] = none;
      for (const Value in : graph_[id].in) pending.push_back(in.node);
      pending.insert(pending.end(), users_[id].begin(), users_[id].end());
    }
    return std::any_of(home_.begin(), home_.end(), [](NodeId home) { return home != none; });
  }

  Graph moved() const {
    std::vector<std::optional<Value>> there(graph_.size());  // in the new graph: what has moved, in its new shape
    return rebuilt(graph_, [&](Graph& to, NodeId id, std::span<const Value> in) -> std::optional<Value> {
      const Node& node = graph_[id];
      const auto reshaped = [&](Value value, const Shape& shape) {
        if (to.type(value).shape == shape) return value;
        const Value operands[] = {value};
        return Value{to.add(Op::reshape, operands, ir::ToShape{shape}, node.location), 0};
      };
      if (node.op == Op::reshape && there[node.in[0].node]) return reshaped(*there[node.in[0].node], node.out[0].shape);
      if (home_[id] == none) return std::nullopt;
      const Shape& shape = graph_[home_[id]].out[0].shape;
      std::vector<Value> operands;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const NodeId from = node.in[i].node;
        if (there[from]) {
          operands.push_back(reshaped(*there[from], shape));
        } else if (graph_[from].op == Op::expand) {
          const Value base[] = {to.node(in[i]).in[0]};
          operands.push_back({to.add(Op::expand, base, ir::ToShape{shape}, graph_[from].location), 0});
        } else {
          const Node& operand = to.node(in[i]);  // of what was a reshape in between, the very node that has moved
          operands.push_back(reshaped(operand.op == Op::reshape ? operand.in[0] : in[i], shape));
        }
      }
      there[id] = Value{to.add(node.op, operands, *node.attributes, node.location), 0};
      return reshaped(*there[id], node.out[0].shape);
    });
  }

 private:
  static Shape squeezed(const Shape& shape) {
    Shape result;
    for (const Extent e : shape)
      if (e != one) result.push_back(e);
    return result;
  }
  const Shape& shape(NodeId id) const { return graph_[id].out[0].shape; }
  // A reshape that moves no element to other axes, or a permutation that does not, leaves its reader where the operand is.
  bool moves_elements(const Node& node) const {
    const Shape& from = graph_.type(node.in[0]).shape;
    if (node.op == Op::reshape) return squeezed(from) != squeezed(node.out[0].shape);
    if (node.op != Op::permute) return false;
    const auto& permuted = node.as<ir::Permutation>().order;
    std::vector<std::uint8_t> order(permuted.begin(), permuted.end());
    std::erase_if(order, [&](std::uint8_t axis) { return from[axis] == one; });
    return !std::is_sorted(order.begin(), order.end());
  }

  // The dot whose kernel computes the node, or may; and where the node may move, if its operands allow: the latest dot's shape.
  void classify(NodeId id) {
    const Node& node = graph_[id];
    for (const Value in : node.in) users_[in.node].push_back(id);
    if (node.op == Op::dot) dot_[id] = id;
    if (!ir::info(node.op).elementwise()) return;
    for (const Value in : node.in) {
      const Node& operand = graph_.node(in);
      const bool behind = operand.op == Op::reshape && dot_[operand.in[0].node] != none && moves_elements(operand);
      const NodeId home = behind ? operand.in[0].node : home_[in.node];
      const NodeId dot = home != none ? dot_[home] : dot_[in.node];
      if (dot == none || (dot_[id] != none && dot_[id] >= dot)) continue;
      dot_[id] = dot;
      home_[id] = home;
    }
  }

  bool may_move(NodeId id) const {
    const Shape& to = shape(home_[id]);
    for (const Value in : graph_[id].in)
      if (!can_be_had(in.node, shape(id), to)) return false;
    return std::ranges::all_of(
        users_[id], [&](NodeId user) { return home_[user] != none || graph_[user].op == Op::dot || moves_elements(graph_[user]); });
  }
  // What updates memory of the caller's waits for those who read it before, and the dot, with all that it reads, would wait with it.
  static bool is_written_over(const Node& node) {
    return node.op == Op::parameter && node.as<ir::Parameter>().kind == ir::Parameter::Kind::donated;
  }
  bool can_be_had(NodeId id, const Shape& from, const Shape& to) const {
    const Node& node = graph_[id];
    if (home_[id] != none || node.op == Op::parameter) return !is_written_over(node);
    if (node.op == Op::reshape) {
      const Node& base = graph_.node(node.in[0]);
      return !is_written_over(base) && (base.op == Op::parameter || moves_elements(node));
    }
    if (node.op != Op::expand) return false;
    const Shape& base = graph_.type(node.in[0]).shape;
    std::size_t alike = 0;  // last axes that both shapes have
    while (alike < std::min(from.size(), to.size()) && from[from.size() - 1 - alike] == to[to.size() - 1 - alike]) ++alike;
    if (base.size() > to.size()) return false;
    return std::all_of(base.begin(), base.end() - static_cast<std::ptrdiff_t>(std::min(alike, base.size())),
                       [](Extent e) { return e == one; });
  }

  const Graph& graph_;
  std::vector<NodeId> dot_;
  std::vector<NodeId> home_;  // of a node that may move: the one in whose shape it is then computed
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

Graph sink_reshapes(Graph graph) {
  Sinker sinker(graph);
  return sinker.find() ? sinker.moved() : std::move(graph);
}

}  // namespace braze::passes
