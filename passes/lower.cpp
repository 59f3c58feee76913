// A group becomes a nest: every value that an output needs is evaluated at a place, views move the place, and what comes from
// outside the group is a load there. A reshape that does not fit the axes splits one and the group is lowered again; at the end
// axes that every address allows are collapsed.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>

#include "ir/error.h"
#include "passes/affine.h"
#include "passes/groups.h"
#include "passes/nest.h"

namespace braze::passes {

using ir::Extent;
using ir::Graph;
using ir::IndexId;
using ir::IndexTable;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

ir::Value stored_value(const Graph& graph, Value value) {
  while (graph.node(value).op == Op::reshape) value = graph.node(value).in[0];
  return value;
}

namespace {

// Where a value is evaluated: one affine an axis, or the place among its row-major elements.
struct Place {
  bool linear = false;
  InlineVector<AffineId, 6> at;
};

// One natural axis of the domain: which axes of the nest it became (none for extent number 1), outermost first.
using Splits = std::vector<std::vector<IndexId>>;

struct Domain {
  const Shape* shape = nullptr;  // of the elements; for a contraction, left alone
  std::optional<NodeId> reduction, contraction;
};

// The natural axes of a dot. One that has one row or one column is a sum of products: k comes last, or, where the columns are the
// contiguous axis of the right factor, before them.
struct DotAxes {
  std::size_t m, n, k;
  bool product = true;  // not a sum
};
DotAxes dot_axes(const Graph& graph, NodeId id) {
  const Node& dot = graph[id];
  const Shape& shape = dot.out[0].shape;
  const std::size_t rank = shape.size();
  DotAxes axes{rank - 2, rank - 1, rank};
  const bool one_row = shape[rank - 2] == Extent(1), one_column = shape[rank - 1] == Extent(1);
  if (!one_row && !one_column) return axes;
  axes.product = false;
  const Node& right = graph.node(dot.in[1]);
  const bool transposed = right.op == Op::permute && right.as<ir::Permutation>().order.back() != rank - 1;
  if (!one_column && !transposed) std::swap(axes.n, axes.k);
  return axes;
}

// The concat that a group is, whose parts are computed each where it goes.
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

class Lowering {
 public:
  Lowering(const Graph& graph, const Extents& extents, const Group& group, std::size_t part, const Splits& splits);
  Nest run();
  // The natural axis and part of an axis of the nest.
  std::pair<std::size_t, std::size_t> natural(Variable axis) const { return parts_[axis]; }
  static std::vector<IndexId> natural_extents(const Graph& graph, const Extents& extents, const Group& group, std::size_t part);

 private:
  struct Request {
    Value value;
    Place place;
    GuardId guard = 0;
  };

  void make_axes(const Splits& splits);
  void add_outputs();
  void add_part(const Node& concat);
  ExprId evaluate(Request request);
  std::optional<ExprId> known(const Request& request) const;
  std::optional<ExprId> attempt(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> all(const std::vector<Request>& wanted, std::vector<Request>& missing, std::vector<ExprId>& out);
  std::optional<Request> moved(const Request& request);
  std::optional<ExprId> pad(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> concat(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> reduce(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> contract(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> elementwise(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> wrap(const Request& request, std::vector<Request>& missing);
  std::optional<ExprId> take(const Request& request, std::vector<Request>& missing);
  ExprId leaf(const Request& request);

  ExprId add(Expr expr);
  GuardId guarded(GuardId base, std::vector<Condition> more);
  std::uint32_t buffer(Value value);
  AffineId linear(const Place& place, const Shape& shape);
  Place spread(const Place& place, const Shape& shape);
  std::optional<Place> domain_place(const Shape& shape, bool row);
  AffineId row_major(const std::vector<std::size_t>& natural_axes);
  Place element_place(const Shape& shape);

  const Graph& graph_;
  const Extents& extents_;
  const Group& group_;
  const std::size_t part_;
  IndexTable& index_;
  Nest nest_;
  AffineArithmetic affine_;
  std::unordered_set<NodeId> inside_;
  std::vector<IndexId> natural_extents_;
  std::vector<AffineId> coordinates_;                       // of the natural axes
  std::vector<bool> reduced_, unit_;                        // the natural axes
  std::vector<std::pair<std::size_t, std::size_t>> parts_;  // by axis of the nest
  std::optional<NodeId> reduction_, contraction_;
  std::map<std::vector<std::uint32_t>, ExprId> done_;
  std::map<std::vector<std::uint64_t>, ExprId> exprs_;
  std::map<std::uint64_t, std::uint32_t> buffers_;
  std::map<NodeId, std::uint32_t> reductions_;
};

std::vector<IndexId> Lowering::natural_extents(const Graph& graph, const Extents& extents, const Group& group, std::size_t part) {
  const Domain domain = domain_of(graph, group, part);
  std::vector<IndexId> result;
  if (domain.contraction) {
    const Node& dot = graph[*domain.contraction];
    const DotAxes axes = dot_axes(graph, *domain.contraction);
    for (const Extent e : dot.out[0].shape) result.push_back(extents.of(e));
    result.push_back(result.back());
    result[axes.n] = extents.of(dot.out[0].shape.back());
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
  reduction_ = domain.reduction;
  contraction_ = domain.contraction;
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

ExprId Lowering::add(Expr expr) {
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(expr.kind) << 32 | static_cast<std::uint64_t>(expr.type) << 16 |
                                     static_cast<std::uint64_t>(expr.op) << 8 | expr.result,
                                 std::uint64_t{expr.number} << 32 | expr.affine, expr.guard, expr.bits};
  for (const ExprId in : expr.in) key.push_back(in);
  const auto [at, fresh] = exprs_.emplace(std::move(key), static_cast<ExprId>(nest_.exprs.size()));
  if (fresh) nest_.exprs.push_back(std::move(expr));
  return at->second;
}

GuardId Lowering::guarded(GuardId base, std::vector<Condition> more) {
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

std::vector<std::uint32_t> key_of(Value value, const Place& place, GuardId guard) {
  std::vector<std::uint32_t> key{value.node, value.result, guard, place.linear};
  key.insert(key.end(), place.at.begin(), place.at.end());
  return key;
}

std::optional<ExprId> Lowering::known(const Request& request) const {
  const auto at = done_.find(key_of(request.value, request.place, request.guard));
  if (at == done_.end()) return std::nullopt;
  return at->second;
}

// A worklist in place of recursion: a request that misses operands waits below them.
ExprId Lowering::evaluate(Request request) {
  std::vector<Request> waiting{request};
  while (!waiting.empty()) {
    const Request top = waiting.back();
    if (known(top)) {
      waiting.pop_back();
      continue;
    }
    std::vector<Request> missing;
    if (const auto expr = attempt(top, missing)) {
      done_.emplace(key_of(top.value, top.place, top.guard), *expr);
      waiting.pop_back();
    } else {
      invariant(!missing.empty(), "kernel {}: %{} has no lowering here", group_.name, top.value.node);
      for (auto m = missing.rbegin(); m != missing.rend(); ++m) waiting.push_back(*m);
    }
  }
  return *known(request);
}

std::optional<ExprId> Lowering::all(const std::vector<Request>& wanted, std::vector<Request>& missing, std::vector<ExprId>& out) {
  for (const Request& request : wanted) {
    if (const auto expr = known(request))
      out.push_back(*expr);
    else
      missing.push_back(request);
  }
  return missing.empty() ? std::optional<ExprId>(0) : std::nullopt;
}

std::optional<ExprId> Lowering::attempt(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  if (node.op == Op::parameter || node.op == Op::constant || !inside_.contains(request.value.node)) return leaf(request);
  if (node.op == Op::iota) {
    const Place place = spread(request.place, node.out[0].shape);
    return add({.kind = Expr::Kind::index, .type = DType::i64, .affine = place.at[0]});
  }
  if (node.op == Op::dot) return contract(request, missing);
  if (node.op == Op::pad) return pad(request, missing);
  if (node.op == Op::concat) return concat(request, missing);
  const ir::OpInfo& info = ir::info(node.op);
  if (info.reduction()) return reduce(request, missing);
  if (node.op == Op::wrap_index) return wrap(request, missing);
  if (node.op == Op::take) return take(request, missing);
  if (info.elementwise()) return elementwise(request, missing);
  const auto at = moved(request);
  group_law(at.has_value(), "kernel {}: what {} leaves is read from memory, by later kernels", group_.name, info.name);
  std::vector<ExprId> found;
  if (!all({*at}, missing, found)) return std::nullopt;
  return found[0];
}

ExprId Lowering::leaf(const Request& request) {
  const Node& node = graph_.node(request.value);
  const ir::Type& type = graph_.type(request.value);
  if (node.op == Op::constant) return add({.kind = Expr::Kind::constant, .type = type.dtype, .bits = node.as<ir::Literal>().bits});
  if (node.op == Op::parameter && node.as<ir::Parameter>().kind == ir::Parameter::Kind::scalar)
    return add({.kind = Expr::Kind::scalar, .type = type.dtype, .number = node.as<ir::Parameter>().number});
  // What has no elements is not read: a load that no axis moves would run before the loops that do not.
  if (std::any_of(type.shape.begin(), type.shape.end(), [](ir::Extent e) { return e == ir::Extent(0); }))
    return add({.kind = Expr::Kind::constant, .type = type.dtype});
  return add({.kind = Expr::Kind::load,
              .type = type.dtype,
              .number = buffer(stored_value(graph_, request.value)),
              .affine = linear(request.place, type.shape),
              .guard = request.guard});
}

// Where a view's operand is read.
std::optional<Lowering::Request> Lowering::moved(const Request& request) {
  const Node& node = graph_.node(request.value);
  const Shape& shape = node.out[0].shape;
  const Value from = node.in[0];
  const Shape& from_shape = graph_.type(from).shape;
  Request result{from, {}, request.guard};
  if (node.op == Op::reshape) {
    result.place = request.place;
    if (request.place.linear) return result;
    // Axes of extent 1 come and go, those at both ends keep their coordinates; the rest are numbered row-major.
    const KeptAxes axes(extents_, shape, from_shape);
    Shape merged, split;
    Place between;
    for (const std::size_t i : axes.merged) {
      merged.push_back(shape[i]);
      between.at.push_back(request.place.at[i]);
    }
    for (const std::size_t i : axes.split) split.push_back(from_shape[i]);
    between = {true, {linear(between, merged)}};
    if (axes.same.empty()) {
      result.place = between;
      return result;
    }
    between = spread(between, split);
    result.place.at.assign(from_shape.size(), affine_.zero());
    for (std::size_t i = 0; i < split.size(); ++i) result.place.at[axes.split[i]] = between.at[i];
    for (const auto& [to, from_axis] : axes.same) result.place.at[from_axis] = request.place.at[to];
    return result;
  }
  const Place place = spread(request.place, shape);
  if (node.op == Op::view) {
    const auto& layout = node.as<ir::Layout>();
    AffineId sum = affine_.constant(extents_.of(layout.offset));
    for (std::size_t i = 0; i < shape.size(); ++i)
      sum = affine_.add(sum, affine_.scale(place.at[i], extents_.of(layout.strides[i])));
    result.place = {true, {sum}};
    return result;
  }
  result.place.at.assign(from_shape.size(), affine_.zero());
  auto& at = result.place.at;
  switch (node.op) {
    case Op::permute: {
      const auto& order = node.as<ir::Permutation>().order;
      for (std::size_t i = 0; i < shape.size(); ++i) at[order[i]] = place.at[i];
      return result;
    }
    case Op::expand:
      for (std::size_t i = 0; i < from_shape.size(); ++i)
        if (!extents_.is_one(from_shape[i])) at[i] = place.at[i + shape.size() - from_shape.size()];
      return result;
    case Op::slice: {
      const auto& slice = node.as<ir::Slice>();
      for (std::size_t i = 0; i < shape.size(); ++i)
        at[i] =
            affine_.add(affine_.constant(extents_.of(slice.starts[i])), affine_.scale(place.at[i], extents_.of(slice.steps[i])));
      return result;
    }
    case Op::flip:
      for (std::size_t i = 0; i < shape.size(); ++i) {
        at[i] = place.at[i];
        if (!(node.as<ir::Axes>().mask >> i & 1)) continue;
        const IndexId last = index_.sub(extents_.of(shape[i]), index_.number(1));
        at[i] = affine_.add(affine_.constant(last), affine_.scale(place.at[i], index_.number(-1)));
      }
      return result;
    default:
      return std::nullopt;
  }
}

std::optional<ExprId> Lowering::pad(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  const Shape& shape = node.out[0].shape;
  const Shape& from_shape = graph_.type(node.in[0]).shape;
  const auto& padding = node.as<ir::Padding>();
  Place place = spread(request.place, shape);
  std::vector<Condition> conditions;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (padding.low[i] == Extent(0) && padding.high[i] == Extent(0)) continue;
    place.at[i] = affine_.add(place.at[i], affine_.constant(index_.mul(extents_.of(padding.low[i]), index_.number(-1))));
    conditions.push_back({place.at[i], extents_.of(from_shape[i])});
  }
  std::vector<Request> operands{{node.in[0], place, guarded(request.guard, conditions)}};
  if (!conditions.empty()) operands.push_back({node.in[1], Place{}, request.guard});
  std::vector<ExprId> found;
  if (!all(operands, missing, found)) return std::nullopt;
  if (conditions.empty()) return found[0];
  const GuardId own = guarded(0, conditions);
  const ExprId inside = add({.kind = Expr::Kind::guard, .type = DType::boolean, .guard = own});
  return add({.kind = Expr::Kind::op, .type = node.out[0].dtype, .op = Op::where, .in = {inside, found[0], found[1]}});
}

std::optional<ExprId> Lowering::concat(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  const std::uint32_t axis = node.as<ir::Concat>().axis;
  const Place place = spread(request.place, node.out[0].shape);
  std::vector<Request> parts;
  std::vector<GuardId> guards;
  IndexId start = index_.number(0);
  for (const Value part : node.in) {
    const IndexId extent = extents_.of(graph_.type(part).shape[axis]);
    Place at = place;
    at.at[axis] = affine_.add(at.at[axis], affine_.constant(index_.mul(start, index_.number(-1))));
    const Condition condition{at.at[axis], extent};
    guards.push_back(guarded(0, {condition}));
    parts.push_back({part, at, guarded(request.guard, {condition})});
    start = index_.add(start, extent);
  }
  std::vector<ExprId> found;
  if (!all(parts, missing, found)) return std::nullopt;
  ExprId result = found.back();
  for (std::size_t i = found.size() - 1; i-- > 0;) {
    const ExprId inside = add({.kind = Expr::Kind::guard, .type = DType::boolean, .guard = guards[i]});
    result = add({.kind = Expr::Kind::op, .type = node.out[0].dtype, .op = Op::where, .in = {inside, found[i], result}});
  }
  return result;
}

std::optional<ExprId> Lowering::elementwise(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  std::vector<Request> operands;
  for (const Value in : node.in) operands.push_back({in, request.place, request.guard});
  std::vector<ExprId> found;
  if (!all(operands, missing, found)) return std::nullopt;
  Expr expr{.kind = Expr::Kind::op, .type = node.out[0].dtype, .op = node.op, .guard = request.guard};
  for (const ExprId in : found) expr.in.push_back(in);
  return add(std::move(expr));
}

std::optional<ExprId> Lowering::wrap(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  std::vector<ExprId> found;
  if (!all({{node.in[0], request.place, request.guard}}, missing, found)) return std::nullopt;
  return add({.kind = Expr::Kind::wrap,
              .type = DType::i64,
              .affine = affine_.constant(extents_.of(node.as<ir::WrapIndex>().extent)),
              .guard = request.guard,
              .in = {found[0]}});
}

std::optional<ExprId> Lowering::take(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  std::vector<ExprId> found;
  if (!all({{node.in[1], request.place, request.guard}}, missing, found)) return std::nullopt;
  return add({.kind = Expr::Kind::take,
              .type = node.out[0].dtype,
              .number = buffer(stored_value(graph_, node.in[0])),
              .affine = affine_.constant(extents_.product(graph_.type(node.in[0]).shape)),
              .guard = request.guard,
              .in = {found[0]}});
}

std::optional<ExprId> Lowering::reduce(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  const Shape& shape = node.out[request.value.result].shape;
  const auto row = domain_place(shape, true);
  const bool here = row && (row->linear == request.place.linear ? row->at == request.place.at
                                                                : linear(*row, shape) == linear(request.place, shape));
  group_law(here, "kernel {}: the result of {} is read at another row", group_.name, ir::name(node.op));
  auto at = reductions_.find(request.value.node);
  if (at == reductions_.end()) {
    std::vector<ExprId> found;
    if (!all({{node.in[0], element_place(graph_.type(node.in[0]).shape), 0}}, missing, found)) return std::nullopt;
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < reduced_.size(); ++i)
      if (reduced_[i]) axes.push_back(i);
    at = reductions_.emplace(request.value.node, static_cast<std::uint32_t>(nest_.reductions.size())).first;
    nest_.reductions.push_back({node.op, found[0], row_major(axes), 1, {request.value.node, 0}});
  }
  return add({.kind = Expr::Kind::reduced,
              .type = graph_.type(request.value).dtype,
              .result = static_cast<std::uint8_t>(request.value.result),
              .number = at->second});
}

std::optional<ExprId> Lowering::contract(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  const std::size_t rank = node.out[0].shape.size();
  const DotAxes axes = dot_axes(graph_, request.value.node);
  Place left, right, result;
  for (std::size_t i = 0; i < rank; ++i) left.at.push_back(i + 2 < rank ? coordinates_[i] : affine_.zero());
  right = result = left;
  left.at[rank - 2] = result.at[rank - 2] = coordinates_[axes.m];
  right.at[rank - 1] = result.at[rank - 1] = coordinates_[axes.n];
  left.at[rank - 1] = right.at[rank - 2] = coordinates_[axes.k];
  group_law(linear(result, node.out[0].shape) == linear(request.place, node.out[0].shape),
            "kernel {}: dot is read at another element", group_.name);
  std::vector<ExprId> found;
  if (!all({{node.in[0], left, 0}, {node.in[1], right, 0}}, missing, found)) return std::nullopt;
  const DType type = node.out[0].dtype;
  if (axes.product) {
    if (nest_.contractions.empty()) nest_.contractions.push_back({found[0], found[1], {request.value.node, 0}});
    return add({.kind = Expr::Kind::reduced, .type = type, .number = contraction_number});
  }
  const auto at = reductions_.emplace(request.value.node, static_cast<std::uint32_t>(nest_.reductions.size())).first;
  if (at->second == nest_.reductions.size()) {
    const DType wide = compute_type(type);
    if (wide != type)
      for (ExprId& factor : found) factor = add({.kind = Expr::Kind::op, .type = wide, .op = Op::cast, .in = {factor}});
    const ExprId product = add({.kind = Expr::Kind::op, .type = wide, .op = Op::mul, .in = {found[0], found[1]}});
    nest_.reductions.push_back(
        {type == DType::boolean ? Op::any : Op::sum, product, coordinates_[axes.k], 1, {request.value.node, 0}});
  }
  return add({.kind = Expr::Kind::reduced, .type = type, .number = at->second});
}

void Lowering::add_outputs() {
  for (const Value value : group_.outputs) {
    const Node& node = graph_.node(value);
    const bool reducing = reduction_.has_value() || contraction_.has_value();
    const bool writes = is_write(node.op);
    const Value stored = writes ? written_value(node) : value;
    const Shape& shape = graph_.type(stored).shape;
    auto place = reducing ? domain_place(shape, true) : std::nullopt;
    Output output;
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

}  // namespace

namespace {

// Calls f with every affine that the nest uses, derived ones' operands included.
template <class F>
void each_affine(Nest& nest, const F& f) {
  for (Expr& expr : nest.exprs)
    if (has_affine(expr)) f(expr.affine);
  for (Derived& derived : nest.derived) f(derived.of);
  for (auto& guard : nest.guards)
    for (Condition& condition : guard) f(condition.index);
  for (Reduction& reduction : nest.reductions) f(reduction.position);
  for (Output& output : nest.outputs) f(output.address);
}

IndexId coefficient(const Affine& affine, Variable variable, IndexId zero) {
  for (const Affine::Term& term : affine.terms)
    if (term.variable == variable) return term.coefficient;
  return zero;
}

void drop_unused_guards(Nest& nest) {
  std::vector<std::vector<Condition>> guards{{}};
  for (Expr& expr : nest.exprs) {
    const auto& wanted = nest.guards[expr.guard];
    const auto at = std::find(guards.begin(), guards.end(), wanted);
    expr.guard = static_cast<GuardId>(at - guards.begin());
    if (at == guards.end()) guards.push_back(wanted);
  }
  nest.guards = std::move(guards);
}

// Quotients and remainders that something reads, in an order where each reads earlier ones only, and the affines in use.
void compact_affines(Nest& nest) {
  std::vector<bool> live(nest.derived.size());
  const auto mark = [&](const AffineId id) {
    for (const Affine::Term& term : nest.affines[id].terms)
      if (term.variable >= derived_base) live[term.variable - derived_base] = true;
  };
  const std::vector<Derived> derived = std::move(nest.derived);
  nest.derived.clear();
  each_affine(nest, [&](AffineId& id) { mark(id); });
  for (std::size_t i = derived.size(); i-- > 0;)
    if (live[i]) mark(derived[i].of);
  std::vector<Variable> renamed(derived.size());
  for (std::size_t i = 0; i < derived.size(); ++i) {
    renamed[i] = derived_base + static_cast<Variable>(nest.derived.size());
    if (live[i]) nest.derived.push_back(derived[i]);
  }
  const std::vector<Affine> affines = std::move(nest.affines);
  nest.affines.clear();
  std::vector<AffineId> place(affines.size(), ~AffineId{0});
  each_affine(nest, [&](AffineId& id) {
    if (place[id] == ~AffineId{0}) {
      place[id] = static_cast<AffineId>(nest.affines.size());
      nest.affines.push_back(affines[id]);
      for (Affine::Term& term : nest.affines.back().terms)
        if (term.variable >= derived_base) term.variable = renamed[term.variable - derived_base];
    }
    id = place[id];
  });
}

// Joins axis `outer` and the next one if every address steps through both as through one.
bool collapse(Nest& nest, IndexTable& index, Variable outer) {
  const Variable inner = outer + 1;
  if (nest.axes[outer].reduced != nest.axes[inner].reduced) return false;
  const IndexId zero = index.number(0), extent = nest.axes[inner].extent;
  for (const Affine& affine : nest.affines)
    if (coefficient(affine, outer, zero) != index.mul(coefficient(affine, inner, zero), extent)) return false;
  nest.axes[outer].extent = index.mul(nest.axes[outer].extent, extent);
  nest.axes.erase(nest.axes.begin() + inner);
  for (Affine& affine : nest.affines) {
    InlineVector<Affine::Term, 4> terms;
    for (Affine::Term term : affine.terms) {
      if (term.variable == outer) continue;
      if (term.variable >= inner && term.variable < derived_base) --term.variable;
      terms.push_back(term);
    }
    affine.terms = terms;
  }
  return true;
}

void collapse_axes(Nest& nest, IndexTable& index) {
  if (!nest.contractions.empty()) return;
  for (std::size_t i = nest.axes.size(); i-- > 0;)
    if (i + 1 < nest.axes.size()) collapse(nest, index, static_cast<Variable>(i));
}

// A reduction's stage is one past those that its operand reads.
void number_stages(Nest& nest) {
  std::vector<std::uint32_t> stage(nest.exprs.size());
  for (std::size_t i = 0; i < nest.exprs.size(); ++i) {
    const Expr& expr = nest.exprs[i];
    for (const ExprId in : expr.in) stage[i] = std::max(stage[i], stage[in]);
    if (expr.kind != Expr::Kind::reduced || expr.number == contraction_number) continue;
    Reduction& reduction = nest.reductions[expr.number];
    reduction.stage = stage[reduction.operand] + 1;
    stage[i] = reduction.stage;
  }
}

Nest lower_group(const Graph& graph, const Extents& extents, const Group& group, std::size_t part) {
  IndexTable& index = extents.index();
  const auto dot = domain_of(graph, group, part).contraction;
  const bool units = !dot || !dot_axes(graph, *dot).product;
  Splits splits;
  for (const IndexId extent : Lowering::natural_extents(graph, extents, group, part)) {
    const bool unit = units && index.is_number(extent, 1);
    splits.push_back(unit ? std::vector<IndexId>{} : std::vector<IndexId>{extent});
  }
  constexpr int most_splits = 64;
  for (int attempt = 0;; ++attempt) {
    Lowering lowering(graph, extents, group, part, splits);
    try {
      Nest nest = lowering.run();
      drop_unused_guards(nest);
      compact_affines(nest);
      collapse_axes(nest, index);
      number_stages(nest);
      return nest;
    } catch (const SplitRequest& request) {
      invariant(attempt < most_splits, "kernel {}: its reshapes keep splitting axes", group.name);
      const auto [axis, piece] = lowering.natural(request.axis);
      const IndexId outer = *exact_quotient(index, splits[axis][piece], request.inner);
      splits[axis][piece] = outer;
      splits[axis].insert(splits[axis].begin() + static_cast<std::ptrdiff_t>(piece) + 1, request.inner);
    }
  }
}

// A group that is a routine: operands in memory, then the results that somebody reads.
Nest routine_nest(const Graph& graph, const Group& group) {
  Nest nest;
  nest.name = group.name;
  nest.routine = group.nodes[0];
  for (const Value in : graph[group.nodes[0]].in)
    if (!is_immediate(graph.node(in))) nest.buffers.push_back(stored_value(graph, in));
  nest.buffers.insert(nest.buffers.end(), group.outputs.begin(), group.outputs.end());
  return nest;
}

void lower_groups(Module& module) {
  check_groups(module);
  const Extents extents(module.graph, module.index);
  for (const Group& group : module.groups) {
    const Node* concat = concat_of(module.graph, group);
    const std::size_t parts = concat ? concat->in.size() : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      const bool routine = group.nodes.size() == 1 && ir::info(module.graph[group.nodes[0]].op).routine();
      Nest nest = routine ? routine_nest(module.graph, group) : lower_group(module.graph, extents, group, part);
      nest.group = static_cast<std::uint32_t>(module.nests.size());
      if (part > 0) nest.name += fmt::format("_{}", part + 1);
      for (const NodeId id : group.nodes)
        if (module.graph[id].location.line) nest.location = module.graph[id].location;
      module.nests.push_back(std::make_shared<const Nest>(std::move(nest)));
    }
  }
}

}  // namespace

Module lower(Module module, const Options&) {
  try {
    lower_groups(module);
  } catch (const BadGroup& bad) {
    refuse(module, bad);
  }
  module.stage = Stage::loops;
  return module;
}

}  // namespace braze::passes
