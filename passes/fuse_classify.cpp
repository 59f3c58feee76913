#include <algorithm>

#include "passes/fuser.h"

namespace braze::passes::fusion {

using ir::Extent;
using ir::IndexId;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

namespace {

bool is_view(Op op) {
  switch (ir::info(op).attributes) {
    case ir::AttributeKind::ToShape:
    case ir::AttributeKind::Permutation:
    case ir::AttributeKind::Slice:
    case ir::AttributeKind::Axes:
      return true;
    case ir::AttributeKind::Layout:
      return op == Op::view;
    default:
      return false;
  }
}

bool is_buffer(const Node& node) {
  return node.op == Op::parameter && node.as<ir::Parameter>().kind != ir::Parameter::Kind::scalar;
}

}  // namespace

// What must be in memory whoever reads it: results, what a write goes over, a take picks from, or a routine reads. A reshape of what
// is in memory is in memory.
void Fuser::keep_in_memory() {
  const auto keep = [&](Value value) { kept_[stored_value(graph_, value).node] = true; };
  if (options_.fuse)
    for (const NodeId id : order_)
      if (is_write(graph_[id].op)) fill_[stored_value(graph_, graph_[id].in[0]).node] = true;
  const auto keep_for_readers = [&](Value value) {
    keep(value);
    fill_[stored_value(graph_, value).node] = false;
  };
  for (const Value result : graph_.results) keep_for_readers(result);
  for (const NodeId id : order_)
    for (std::size_t i = 0; i < graph_[id].in.size(); ++i)
      if (is_write(graph_[id].op) && i == 0)
        keep(graph_[id].in[i]);
      else if (reads_whole(graph_[id], i) && !(ir::info(graph_[id].op).routine() && is_immediate(graph_.node(graph_[id].in[i]))))
        keep_for_readers(graph_[id].in[i]);
  // A dot's factor whose dims merge others that do not lie in a row would be found by a division for each element packed; in memory it
  // is a copy, which is cheap beside the dot. The CPU's schedule finds the right factor's elements while it packs them.
  for (const NodeId id : order_) {
    const Node& node = graph_[id];
    if (node.op != Op::dot) continue;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      Value factor = node.in[i];
      while (graph_.node(factor).op == Op::expand) factor = graph_.node(factor).in[0];
      if (graph_.node(factor).op != Op::reshape || !is_view(graph_.node(stored_value(graph_, factor)).op)) continue;
      const bool packs =
          i == 1 && std::holds_alternative<ir::CpuTarget>(options_.target) && node.as<ir::Dot>().order == ir::Dot::Order::blocked;
      if (!packs || merges_factor_axes(node.in[i])) keep_for_readers(factor);
    }
  }
}

// Whether a reshape on the way to what is computed or in memory mixes the last two axes of a value: where one is, the other has a say.
bool Fuser::merges_factor_axes(Value value) const {
  const std::size_t rank = graph_.type(value).shape.size();
  std::vector<std::uint8_t> axes(
      rank);  // bit 0: the last but one has a say in where along this axis an element is, bit 1: the last
  axes[rank - 2] = 1;
  axes[rank - 1] = 2;
  while (true) {
    const Node& node = graph_.node(value);
    if (node.in.empty()) return false;
    const Shape& from = graph_.type(node.in[0]).shape;
    const Shape& shape = node.out[0].shape;
    std::vector<std::uint8_t> next(from.size());
    if (node.op == Op::reshape) {
      const KeptAxes kept(extents_, shape, from);
      std::uint8_t all = 0;
      for (const std::size_t axis : kept.merged) all |= axes[axis];
      if (all == 3) return true;
      for (const std::size_t axis : kept.split) next[axis] = all;
      for (const auto& [to, axis] : kept.same) next[axis] = axes[to];
    } else if (node.op == Op::permute) {
      const auto& order = node.as<ir::Permutation>().order;
      for (std::size_t i = 0; i < order.size(); ++i) next[order[i]] = axes[i];
    } else if (node.op == Op::expand) {
      for (std::size_t i = 0; i < from.size(); ++i) next[i] = axes[i + shape.size() - from.size()];
    } else {
      return false;
    }
    axes = std::move(next);
    value = node.in[0];
  }
}

// Whether a node is made of constants and scalars alone.
bool Fuser::is_free(NodeId id) const {
  const Node& node = graph_[id];
  if (node.op == Op::constant) return true;
  if (node.op == Op::parameter) return node.as<ir::Parameter>().kind == ir::Parameter::Kind::scalar;
  if (!is_view(node.op) && !ir::info(node.op).elementwise()) return false;
  return !node.in.empty() && std::all_of(node.in.begin(), node.in.end(), [&](Value v) { return role_[v.node] == Role::free; });
}

// A long chain of views is cut: a reader sees through this many.
constexpr std::uint8_t deepest_view = 48;

void Fuser::classify() {
  order_ = ir::postorder(graph_, graph_.results);
  std::sort(order_.begin(), order_.end());
  keep_in_memory();
  for (const NodeId id : order_) {
    const Node& node = graph_[id];
    Role& role = role_[id];
    if (is_view(node.op) && !node.in.empty() && role_[node.in[0].node] == Role::view)
      view_depth_[id] = std::min(view_depth_[node.in[0].node] + 1, 255);
    const bool cut = is_view(node.op) && view_depth_[id] >= deepest_view && node.op != Op::reshape;
    const bool free = is_free(id);
    fill_[id] = fill_[id] && free;
    if (free && !kept_[id]) {
      role = Role::free;
    } else if (is_buffer(node)) {
      role = Role::leaf;
    } else if (is_view(node.op) && !kept_[id] && !cut) {
      role = Role::view;
    } else {
      role = Role::member;
      if (is_write(node.op) || ir::info(node.op).routine() || cut) kept_[id] = true;
    }
  }
}

std::vector<IndexId> Fuser::squeezed(const Shape& shape) const {
  std::vector<IndexId> result;
  for (const Extent e : shape)
    if (!extents_.is_one(e)) result.push_back(extents_.of(e));
  return result;
}

// The shape over which a node reads its operands.
const Shape& Fuser::point(NodeId id) const {
  const Node& node = graph_[id];
  if (ir::info(node.op).reduction()) return graph_.type(node.in[0]).shape;
  if (is_write(node.op)) return graph_.type(write_point(node)).shape;
  return node.out[0].shape;
}

Domain Fuser::domain_of(NodeId id) {
  const Node& node = graph_[id];
  const Shape& shape = point(id);
  Domain domain;
  domain.extents = squeezed(shape);
  domain.reduced.assign(domain.extents.size(), false);
  domain.contracts = node.op == Op::dot;
  domain.serial = node.op == Op::accumulate || node.op == Op::put || node.op == Op::concat || ir::info(node.op).routine();
  if (!ir::info(node.op).reduction()) return domain;
  domain.reduces = true;
  const std::uint64_t mask = node.as<ir::Reduced>().mask;
  if (!shape.empty() && !(mask >> (shape.size() - 1) & 1)) domain.order = ReduceOrder::outer;
  for (std::size_t i = 0, at = 0; i < shape.size(); ++i)
    if (!extents_.is_one(shape[i])) domain.reduced[at++] = mask >> i & 1;
  return domain;
}

// Follows views from a node's operand down to what is computed or in memory, and an axis of the point to each axis there.
Fuser::Operand Fuser::look_through(Value value, const Shape& point) const {
  constexpr int nowhere = -1, lost = -2;
  std::vector<int> axis;
  for (std::size_t i = 0; i < point.size(); ++i) axis.push_back(extents_.is_one(point[i]) ? nowhere : static_cast<int>(i));
  bool moved = false, spread = false;
  Operand result{value, value, {}};
  while (role_[result.base.node] == Role::view) {
    const Node& node = graph_.node(result.base);
    if (node.in.empty()) break;
    const Shape& shape = node.out[0].shape;
    const Shape& from = graph_.type(node.in[0]).shape;
    std::vector<int> next(from.size(), lost);
    if (node.op == Op::permute) {
      const auto& order = node.as<ir::Permutation>().order;
      for (std::size_t i = 0; i < order.size(); ++i) next[order[i]] = axis[i];
    } else if (node.op == Op::expand) {
      for (std::size_t i = 0; i < from.size(); ++i)
        next[i] = extents_.is_one(from[i]) ? nowhere : axis[i + shape.size() - from.size()];
      spread = true;
    } else if (node.op == Op::reshape) {
      if (squeezed(shape) == squeezed(from)) {
        std::vector<int> kept;
        for (std::size_t i = 0; i < shape.size(); ++i)
          if (!extents_.is_one(shape[i])) kept.push_back(axis[i]);
        std::size_t at = 0;
        for (std::size_t i = 0; i < from.size(); ++i) next[i] = extents_.is_one(from[i]) ? nowhere : kept[at++];
      } else {
        moved = true;
      }
    } else {
      moved = true;
      spread = spread || node.op == Op::view;  // an arbitrary layout may repeat
    }
    axis = std::move(next);
    result.base = node.in[0];
  }
  std::vector<std::uint8_t> axes;
  for (const int a : axis) {
    if (a == nowhere) continue;
    moved = moved || a == lost || (!axes.empty() && a <= axes.back());
    axes.push_back(static_cast<std::uint8_t>(std::max(a, 0)));
  }
  const std::size_t all = squeezed(point).size();
  if (moved)
    result.relation.kind = spread ? Relation::Kind::spread : Relation::Kind::moved;
  else
    result.relation = {axes.size() == all ? Relation::Kind::same : Relation::Kind::row, axes};
  return result;
}

std::vector<Fuser::Operand> Fuser::operands(NodeId id) {
  const Node& node = graph_[id];
  std::vector<Operand> result;
  const bool elsewhere =
      node.op == Op::pad || node.op == Op::concat || node.op == Op::dot || role_[id] != Role::member || is_view(node.op);
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    if (reads_whole(node, i)) continue;
    const Value in = node.in[i];
    Operand operand = look_through(in, elsewhere ? graph_.type(in).shape : point(id));
    if (fill_[operand.base.node]) continue;
    if (elsewhere && (operand.relation.kind == Relation::Kind::same || operand.relation.kind == Relation::Kind::row))
      operand.relation.kind = node.op == Op::dot || operand.relation.kind == Relation::Kind::row || node.op == Op::expand
                                  ? Relation::Kind::spread
                                  : Relation::Kind::moved;
    result.push_back(std::move(operand));
  }
  return result;
}

}  // namespace braze::passes::fusion
