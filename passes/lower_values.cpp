// Every value of a group, evaluated at the place where it is read: views move the place, and what comes from outside the group is a load.
#include <algorithm>

#include "ir/error.h"
#include "passes/factor_reduction.h"
#include "passes/lowering.h"

namespace braze::passes::lowering {

ExprId Lowering::add(Expr expr) {
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(expr.kind) << 32 | static_cast<std::uint64_t>(expr.type) << 16 |
                                     static_cast<std::uint64_t>(expr.op) << 8 | expr.result,
                                 std::uint64_t{expr.number} << 32 | expr.affine, expr.guard, expr.bits};
  for (const ExprId in : expr.in) key.push_back(in);
  const auto [at, fresh] = exprs_.emplace(std::move(key), static_cast<ExprId>(nest_.exprs.size()));
  if (fresh) nest_.exprs.push_back(std::move(expr));
  return at->second;
}

namespace {
std::vector<std::uint32_t> key_of(Value value, const Place& place, GuardId guard) {
  std::vector<std::uint32_t> key{value.node, value.result, guard, place.linear};
  key.insert(key.end(), place.at.begin(), place.at.end());
  return key;
}
bool swaps_last_two(const ir::Node& node) {
  if (node.op != Op::permute) return false;
  const auto& order = node.as<ir::Permutation>().order;
  const std::size_t rank = order.size();
  return rank >= 2 && order[rank - 1] == rank - 2 && order[rank - 2] == rank - 1;
}

}  // namespace

std::optional<ExprId> Lowering::known(const Request& request) const {
  const auto at = done_.find(key_of(request.value, request.place, request.guard));
  if (at == done_.end()) return std::nullopt;
  return at->second;
}

// A worklist in place of recursion: a request that misses operands waits below them.
ExprId Lowering::evaluate(const Request& request) {
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
  if (info.reduction()) return contraction_ ? reduce_factor(request, missing) : reduce(request, missing);
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

// A reduction of a factor of the dot: of the elements that the dot reads, where it reads them.
std::optional<ExprId> Lowering::reduce_factor(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  const Node& dot = graph_[*contraction_];
  const auto found = factor_reduction(graph_, extents_, *contraction_, request.value.node);
  group_law(found.has_value(), "kernel {} holds a dot and a reduction that is of no factor of it", group_.name);
  const Variable axis = found->left ? 0 : 1;
  const Shape& shape = node.out[request.value.result].shape;
  group_law(linear(place_along(axis, shape), shape) == linear(request.place, shape),
            "kernel {}: the result of {} is read at another row", group_.name, ir::name(node.op));
  auto at = reductions_.find(request.value.node);
  if (at == reductions_.end()) {
    const auto [left, right] = factor_places();
    std::vector<ExprId> factor;
    if (!all({found->left ? Request{dot.in[0], left, 0} : Request{dot.in[1], right, 0}}, missing, factor)) return std::nullopt;
    at = reductions_.emplace(request.value.node, static_cast<std::uint32_t>(nest_.reductions.size())).first;
    const AffineId position = coordinates_[dot_axes(graph_, *contraction_).k];
    nest_.reductions.push_back({node.op, factor[0], position, 1, {request.value.node, 0}, axis, found->order});
  }
  return add({.kind = Expr::Kind::reduced,
              .type = graph_.type(request.value).dtype,
              .result = static_cast<std::uint8_t>(request.value.result),
              .number = at->second});
}

// Where the dot reads its factors.
std::pair<Place, Place> Lowering::factor_places() const {
  const std::size_t rank = graph_[*contraction_].out[0].shape.size();
  const DotAxes axes = dot_axes(graph_, *contraction_);
  Place left;
  for (std::size_t i = 0; i < rank; ++i) left.at.push_back(coordinates_[i]);
  Place right = left;
  left.at[rank - 2] = coordinates_[axes.m];
  right.at[rank - 1] = coordinates_[axes.n];
  left.at[rank - 1] = right.at[rank - 2] = coordinates_[axes.k];
  return {left, right};
}

std::optional<ExprId> Lowering::contract(const Request& request, std::vector<Request>& missing) {
  const Node& node = graph_.node(request.value);
  const std::size_t rank = node.out[0].shape.size();
  const DotAxes axes = dot_axes(graph_, request.value.node);
  const auto [left, right] = factor_places();
  Place result = left;
  result.at[rank - 2] = coordinates_[axes.m];
  result.at[rank - 1] = coordinates_[axes.n];
  group_law(linear(result, node.out[0].shape) == linear(request.place, node.out[0].shape),
            "kernel {}: dot is read at another element", group_.name);
  std::vector<ExprId> found;
  if (!all({{node.in[0], left, 0}, {node.in[1], right, 0}}, missing, found)) return std::nullopt;
  const DType type = node.out[0].dtype;
  if (axes.product) {
    if (nest_.contractions.empty())
      nest_.contractions.push_back({found[0], found[1], {request.value.node, 0}, swaps_last_two(graph_.node(node.in[1]))});
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

}  // namespace braze::passes::lowering
