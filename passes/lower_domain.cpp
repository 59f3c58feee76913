// What a group's domain is, where its values lie in it, and where its outputs go.
#include <algorithm>

#include "ir/error.h"
#include "passes/factor_reduction.h"
#include "passes/lowering.h"

namespace braze::passes::lowering {

DotAxes dot_axes(const Graph& graph, NodeId id) {
  const Node& dot = graph[id];
  const Shape& shape = dot.out[0].shape;
  const std::size_t rank = shape.size();
  DotAxes axes{rank - 2, rank - 1, rank};
  const ir::Dot::Order order = dot.as<ir::Dot>().order;
  if (order == ir::Dot::Order::blocked) return axes;
  axes.product = false;
  if (order == ir::Dot::Order::outer) std::swap(axes.k, shape[rank - 1] == Extent(1) ? axes.m : axes.n);
  return axes;
}

const Node* concat_of(const Graph& graph, const Group& group) {
  if (group.outputs.size() != 1 || graph.node(group.outputs[0]).op != Op::concat) return nullptr;
  return &graph.node(group.outputs[0]);
}

Domain domain_of(const Graph& graph, const Group& group, std::size_t part) {
  Domain domain;
  if (const Node* concat = concat_of(graph, group)) {
    domain.shape = &graph.type(concat->in[part]).shape;
    return domain;
  }
  for (const NodeId id : group.nodes) {
    if (graph[id].op == Op::dot) domain.contraction = id;
    if (ir::info(graph[id].op).reduction() && !domain.reduction) domain.reduction = id;
  }
  if (domain.contraction) return domain;
  if (domain.reduction) {
    domain.shape = &graph.type(graph[*domain.reduction].in[0]).shape;
    return domain;
  }
  const Value first = group.outputs.at(0);
  const Node& node = graph.node(first);
  domain.shape = is_write(node.op) ? &graph.type(write_point(node)).shape : &graph.type(first).shape;
  return domain;
}

std::vector<IndexId> Lowering::natural_extents(const Graph& graph, const Extents& extents, const Group& group, std::size_t part) {
  const Domain domain = domain_of(graph, group, part);
  std::vector<IndexId> result;
  if (domain.contraction) {
    const Node& dot = graph[*domain.contraction];
    const DotAxes axes = dot_axes(graph, *domain.contraction);
    for (const Extent e : dot.out[0].shape) result.push_back(extents.of(e));
    const IndexId rows = result[result.size() - 2], columns = result.back();
    result.push_back(columns);
    result[axes.m] = rows;
    result[axes.n] = columns;
    result[axes.k] = extents.of(graph.type(dot.in[0]).shape.back());
    return result;
  }
  for (const Extent e : *domain.shape) result.push_back(extents.of(e));
  return result;
}

Lowering::Lowering(const Graph& graph, const Extents& extents, const Group& group, std::size_t part, const Splits& splits)
    : graph_(graph),
      extents_(extents),
      group_(group),
      part_(part),
      index_(extents.index()),
      affine_(nest_, extents.index(), !domain_of(graph, group, part).contraction),
      inside_(group.nodes.begin(), group.nodes.end()),
      natural_extents_(natural_extents(graph, extents, group, part)) {
  const Domain domain = domain_of(graph, group, part);
  contraction_ = domain.contraction;
  if (!contraction_) reduction_ = domain.reduction;
  const std::size_t rank = natural_extents_.size();
  reduced_.assign(rank, false);
  bool units = true;
  if (contraction_) {
    const DotAxes axes = dot_axes(graph, *contraction_);
    reduced_[axes.k] = true;
    units = !axes.product;
    if (axes.k != rank - 1) nest_.order = ReduceOrder::outer;
  } else if (reduction_) {
    const std::uint64_t mask = graph[*reduction_].as<ir::Reduced>().mask;
    for (std::size_t i = 0; i < rank; ++i) reduced_[i] = mask >> i & 1;
    if (rank > 0 && !reduced_.back()) nest_.order = ReduceOrder::outer;
  }
  for (const IndexId extent : natural_extents_) unit_.push_back(units && index_.is_number(extent, 1));
  make_axes(splits);
}

void Lowering::make_axes(const Splits& splits) {
  const IndexId one = index_.number(1);
  for (std::size_t i = 0; i < natural_extents_.size(); ++i) {
    AffineId coordinate = affine_.zero();
    for (std::size_t part = 0; part < splits[i].size(); ++part) {
      const IndexId extent = splits[i][part];
      const auto variable = static_cast<Variable>(nest_.axes.size());
      nest_.axes.push_back({extent, reduced_[i]});
      parts_.emplace_back(i, part);
      // A batch of one: views that drop its axis read the same place.
      const bool still = extent == one && !reduced_[i];
      coordinate = affine_.add(affine_.scale(coordinate, part ? extent : one), still ? affine_.zero() : affine_.variable(variable));
    }
    coordinates_.push_back(coordinate);
  }
}

GuardId Lowering::guarded(GuardId base, const std::vector<Condition>& more) {
  std::vector<Condition> conditions = nest_.guards[base];
  for (const Condition& condition : more)
    if (std::find(conditions.begin(), conditions.end(), condition) == conditions.end()) conditions.push_back(condition);
  const auto at = std::find(nest_.guards.begin(), nest_.guards.end(), conditions);
  const auto id = static_cast<GuardId>(at - nest_.guards.begin());
  if (at == nest_.guards.end()) nest_.guards.push_back(std::move(conditions));
  return id;
}

std::uint32_t Lowering::buffer(Value value) {
  const auto [at, fresh] = buffers_.emplace(std::uint64_t{value.node} << 32 | value.result, nest_.buffers.size());
  if (fresh) nest_.buffers.push_back(value);
  return at->second;
}

AffineId Lowering::linear(const Place& place, const Shape& shape) {
  if (place.linear) return place.at[0];
  AffineId sum = affine_.zero();
  IndexId stride = index_.number(1);
  for (std::size_t i = shape.size(); i-- > 0;) {
    sum = affine_.add(sum, affine_.scale(place.at[i], stride));
    stride = index_.mul(stride, extents_.of(shape[i]));
  }
  return sum;
}

Place Lowering::spread(const Place& place, const Shape& shape) {
  if (!place.linear) return place;
  Place result;
  result.at.assign(shape.size(), affine_.zero());
  AffineId rest = place.at[0];
  std::size_t outermost = 0;
  while (outermost < shape.size() && extents_.is_one(shape[outermost])) ++outermost;
  for (std::size_t i = shape.size(); i-- > outermost;) {
    if (extents_.is_one(shape[i])) continue;
    if (i == outermost) {
      result.at[i] = rest;
      break;
    }
    const auto [quotient, remainder] = affine_.divide(rest, extents_.of(shape[i]));
    result.at[i] = remainder;
    rest = quotient;
  }
  return result;
}

AffineId Lowering::row_major(const std::vector<std::size_t>& natural_axes) {
  AffineId sum = affine_.zero();
  for (const std::size_t axis : natural_axes) sum = affine_.add(affine_.scale(sum, natural_extents_[axis]), coordinates_[axis]);
  return sum;
}

// A value of this shape at the domain's own point, or of the row's.
std::optional<Place> Lowering::domain_place(const Shape& shape, bool row) {
  std::vector<std::size_t> axes;
  IndexId elements = index_.number(1);
  for (std::size_t i = 0; i < natural_extents_.size(); ++i) {
    if (unit_[i] || (row && reduced_[i])) continue;
    axes.push_back(i);
    elements = index_.mul(elements, natural_extents_[i]);
  }
  Place place;
  std::size_t next = 0;
  bool fits = true;
  for (const Extent e : shape) {
    if (fits && next < axes.size() && extents_.of(e) == natural_extents_[axes[next]]) {
      place.at.push_back(coordinates_[axes[next++]]);
    } else {
      fits = fits && extents_.is_one(e);
      place.at.push_back(affine_.zero());
    }
  }
  if (fits && next == axes.size()) return place;
  if (extents_.product(shape) != elements) return std::nullopt;
  return Place{true, {row_major(axes)}};
}

Place Lowering::element_place(const Shape& shape) {
  const auto place = domain_place(shape, false);
  group_law(place.has_value(), "kernel {}: a value of shape {} has other elements than the rest", group_.name,
            ir::text(shape, graph_.symbols));
  return *place;
}

// A value of this shape along an axis of the dot.
Place Lowering::place_along(Variable axis, const Shape& shape) {
  group_law(extents_.product(shape) == natural_extents_[axis], "kernel {}: a value of shape {} has other elements than the rest",
            group_.name, ir::text(shape, graph_.symbols));
  return {true, {coordinates_[axis]}};
}

// Which values are made of reductions beside the dot.
void Lowering::find_along() {
  if (!contraction_) return;
  constexpr Variable elements = no_axis;  // made of the dot
  for (const NodeId id : group_.nodes) {
    const Node& node = graph_[id];
    std::optional<Variable> own;
    if (id == *contraction_) own = elements;
    if (ir::info(node.op).reduction()) {
      const auto found = factor_reduction(graph_, extents_, *contraction_, id);
      group_law(found.has_value(), "kernel {} holds a dot and a reduction that is of no factor of it", group_.name);
      own = found->left ? 0 : 1;
    } else if (!own) {
      for (const Value in : node.in) {
        const auto at = along_.find(in.node);
        if (at == along_.end()) continue;
        group_law(!own || *own == at->second, "kernel {}: {} reads the dot and a reduction beside it, or two along other axes",
                  group_.name, ir::name(node.op));
        own = at->second;
      }
    }
    if (own) along_.emplace(id, *own);
  }
}

// The axis along which an output lies beside the dot: that of the reductions that it is made of, or, where it is made of nothing but what is
// read there, one that it fits.
Variable Lowering::along_of(Value value) {
  if (!contraction_) return no_axis;
  if (const auto made = along_.find(value.node); made != along_.end()) return made->second;
  const Shape& shape = graph_.type(value).shape;
  if (domain_place(shape, true)) return no_axis;
  for (const auto& [node, axis] : along_)
    if (axis != no_axis && extents_.product(shape) == natural_extents_[axis]) return axis;
  return no_axis;
}

// A tile of a product has lanes and rows past an only column or row. What they would store is masked, and lies apart.
AffineId Lowering::apart_in_tile(AffineId address, Variable along) {
  if (!contraction_) return address;
  const DotAxes axes = dot_axes(graph_, *contraction_);
  for (Variable v = 0; axes.product && v < parts_.size(); ++v) {
    const std::size_t axis = parts_[v].first;
    const bool of_tile = (axis == axes.m || axis == axes.n) && (along == no_axis || along == v);
    if (of_tile && index_.is_number(natural_extents_[axis], 1)) address = affine_.add(address, affine_.variable(v));
  }
  return address;
}

void Lowering::add_outputs() {
  find_along();
  for (const Value value : group_.outputs) {
    const Node& node = graph_.node(value);
    const bool reducing = reduction_.has_value() || contraction_.has_value();
    const bool writes = is_write(node.op);
    const Value stored = writes ? written_value(node) : value;
    const Shape& shape = graph_.type(stored).shape;
    Output output;
    output.along = along_of(stored);
    auto place = output.along != no_axis ? place_along(output.along, shape) : reducing ? domain_place(shape, true) : std::nullopt;
    output.row = place.has_value();
    if (!place) {
      group_law(!contraction_, "kernel {}: {} gives other elements than the dot", group_.name, ir::name(node.op));
      place = element_place(shape);
    }
    output.expr = evaluate({stored, *place});
    output.buffer = buffer(value);
    if (node.op == Op::put) {
      output.index = evaluate({write_point(node), *place});
      output.address = affine_.constant(extents_.product(node.out[0].shape));
      output.accumulate = true;
      output.combine = node.as<ir::Put>().combine;
      output.into = stored_value(graph_, node.in[0]);
    } else if (writes) {
      const auto& layout = node.as<ir::Layout>();
      const Place at = spread(*place, layout.sizes);
      output.address = affine_.constant(extents_.of(layout.offset));
      for (std::size_t i = 0; i < layout.sizes.size(); ++i)
        output.address = affine_.add(output.address, affine_.scale(at.at[i], extents_.of(layout.strides[i])));
      output.accumulate = node.op == Op::accumulate;
      output.into = stored_value(graph_, node.in[0]);
    } else {
      output.address = linear(*place, shape);
    }
    output.address = apart_in_tile(output.address, output.along);
    nest_.outputs.push_back(output);
  }
}

// One part of a concat, stored where it stands in the result.
void Lowering::add_part(const Node& concat) {
  const std::uint32_t axis = concat.as<ir::Concat>().axis;
  const Shape& shape = graph_.type(concat.in[part_]).shape;
  const Place place = element_place(shape);
  IndexId start = index_.number(0);
  for (std::size_t i = 0; i < part_; ++i) start = index_.add(start, extents_.of(graph_.type(concat.in[i]).shape[axis]));
  Place there = spread(place, shape);
  there.at[axis] = affine_.add(there.at[axis], affine_.constant(start));
  const ExprId expr = evaluate({concat.in[part_], place});
  nest_.outputs.push_back({.expr = expr, .buffer = buffer(group_.outputs[0]), .address = linear(there, concat.out[0].shape)});
}

Nest Lowering::run() {
  nest_.name = group_.name;
  const Node* concat = concat_of(graph_, group_);
  concat ? add_part(*concat) : add_outputs();
  group_law((!reduction_ && !contraction_) || !nest_.reductions.empty() || !nest_.contractions.empty(),
            "kernel {}: nothing that it puts out reads what it reduces", group_.name);
  return std::move(nest_);
}

}  // namespace braze::passes::lowering
