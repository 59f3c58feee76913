// Ops that move elements: their derivative is the move itself, its adjoint the move back.
#include "ir/error.h"
#include "passes/derivative_rules.h"

namespace braze::passes {

using namespace ir::formula;
using ir::Builder;
using ir::Expr;
using ir::Expression;
using ir::Extent;
using ir::Layout;
using ir::Op;
using ir::Shape;

namespace {

using Results = std::span<const Expression>;

Expr cotangent(const Application& a, Results g) { return {a.builder, g[0]}; }

std::int64_t elements(const Shape& shape) {  // of numbers
  std::int64_t product = 1;
  for (Extent e : shape) product *= e.number();
  return product;
}

std::uint64_t first_axes(std::size_t count) { return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

Expr view(const Expr& s, const Layout& layout) { return ir::formula::emit(Op::view, {s}, layout); }
Expr store(const Expr& s, const Layout& layout, const Expr& v) { return ir::formula::emit(Op::store, {s, v}, layout); }

// ---- strided reads

// A layout's axes of stride zero repeat elements: their cotangents are summed first.
void sum_repeats(Layout& layout, Expr& g) {
  std::uint64_t mask = 0;
  Layout rest{layout.offset, {}, {}};
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.strides[i] == Extent(0)) {
      mask |= std::uint64_t{1} << i;
      continue;
    }
    rest.sizes.push_back(layout.sizes[i]);
    rest.strides.push_back(layout.strides[i]);
  }
  g = sum(g, mask);
  layout = rest;
}

// The axes of a layout from the longest stride to the shortest, where numbers show that no place is addressed twice.
std::optional<std::vector<std::size_t>> injective_order(const Layout& layout) {
  if (layout.offset.is_symbol() || !all_numbers(layout.sizes) || !all_numbers(layout.strides)) return std::nullopt;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) order.push_back(i);
  const auto length = [&](std::size_t i) { return std::abs(layout.strides[i].number()); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) { return length(i) > length(k); });
  std::int64_t reach = 0;  // of the shorter strides
  for (std::size_t n = order.size(); n-- > 0;) {
    if (layout.sizes[order[n]].number() <= 1) continue;
    if (length(order[n]) <= reach) return std::nullopt;
    reach += (layout.sizes[order[n]].number() - 1) * length(order[n]);
  }
  return order;
}

// Adds g to the elements of operand k's cotangent that a layout addresses.
void accumulate_into(const Application& a, Cotangents& operands, std::size_t k, Layout layout, Expr g) {
  sum_repeats(layout, g);
  const Shape& whole = a.operand(k).shape();
  const auto order = injective_order(layout);
  if (!order) {
    const Expr before = running(a, operands, k);
    return operands.replace(k, ir::formula::emit(Op::accumulate, {before, g}, layout).id());
  }
  if (all_numbers(whole) && elements(whole) == elements(layout.sizes)) {  // each place once: the axes put back in order
    ir::Permutation permutation;
    for (std::size_t i : *order) {
      if (layout.strides[i].number() < 0) g = flip(g, i);
      permutation.order.push_back(static_cast<std::uint8_t>(i));
    }
    return operands.add(k, reshape(permute(g, permutation), whole));
  }
  const Expression before = operands.running(k);
  const Expr base = running(a, operands, k);
  operands.replace(k, store(base, layout, before ? view(base, layout) + g : g).id());
}

void pull_view(const Application& a, Results g, Cotangents& operands) {
  accumulate_into(a, operands, 0, a.as<Layout>(), cotangent(a, g));
}

void pull_store(const Application& a, Results results, Cotangents& operands) {
  const Expr g = cotangent(a, results);
  const auto& layout = a.as<Layout>();
  if (operands.wants(0)) operands.add(0, store(g, layout, zeros_like(a.operand(1))));
  if (operands.wants(1)) operands.add(1, view(g, layout));
}

void pull_accumulate(const Application& a, Results results, Cotangents& operands) {
  const Expr g = cotangent(a, results);
  operands.add(0, g);
  if (operands.wants(1)) operands.add(1, view(g, a.as<Layout>()));
}

// ---- moves with structure

void pull_cast(const Application& a, Results g, Cotangents& operands) {
  if (operands.wants(0)) operands.add(0, cast(cotangent(a, g), a.operand(0).dtype()));
}
void push_cast(const Application& a, std::span<const Expression> t, std::span<Expression> results) {
  if (is_float(a.result().dtype())) results[0] = cast({a.builder, t[0]}, a.result().dtype()).id();
}

void pull_permute(const Application& a, Results g, Cotangents& operands) {
  const auto& order = a.as<ir::Permutation>().order;
  ir::Permutation inverse;
  inverse.order.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse.order[order[i]] = static_cast<std::uint8_t>(i);
  operands.add(0, permute(cotangent(a, g), inverse));
}

void pull_reshape(const Application& a, Results g, Cotangents& operands) {
  operands.add(0, reshape(cotangent(a, g), a.operand(0).shape()));
}

void pull_expand(const Application& a, Results g, Cotangents& operands) {
  const Shape &from = a.operand(0).shape(), &to = a.result().shape();
  const std::size_t lead = to.size() - from.size();
  std::uint64_t mask = first_axes(lead);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] == Extent(1) && to[lead + i] != Extent(1)) mask |= std::uint64_t{1} << (lead + i);
  operands.add(0, reshape(sum(cotangent(a, g), mask), from));
}

void pull_flip(const Application& a, Results g, Cotangents& operands) {
  operands.add(0, ir::formula::emit(Op::flip, {cotangent(a, g)}, a.attributes));
}

// One axis of a slice of an operand, all of it numbers: the elements go back to their places between zeros.
Expr spread(Expr g, std::size_t axis, std::int64_t start, std::int64_t step, std::int64_t extent) {
  std::int64_t size = g.shape()[axis].number();
  if (size == 0) start = 0;
  if (step < 0 && size > 0) {
    g = flip(g, axis);
    start += (size - 1) * step;
    step = -step;
  }
  const auto padded = [](const Expr& x, std::size_t at, std::int64_t low, std::int64_t high) {
    ir::Padding p{Shape(x.rank(), 0), Shape(x.rank(), 0), x.shape()};
    p.low[at] = low;
    p.high[at] = high;
    p.sizes[at] = low + x.shape()[at].number() + high;
    return low == 0 && high == 0 ? x : pad(x, p);
  };
  if (step > 1 && size > 1) {
    Shape shape = g.shape();
    shape.insert(axis + 1, 1);
    g = padded(reshape(g, shape), axis + 1, 0, step - 1);
    shape.erase(axis + 1);
    shape[axis] = size * step;
    size = (size - 1) * step + 1;
    g = narrow(reshape(g, shape), axis, 0, size);
  }
  return padded(g, axis, start, extent - start - size);
}

// The same where extents are symbols: by computed places.
Expr spread(const Expr& g, std::size_t axis, Extent start, Extent step, Extent extent) {
  Builder& b = g.builder();
  const Expr index =
      index_along(b, g.shape(), axis) * expand(extent_value(b, step), g.shape()) + expand(extent_value(b, start), g.shape());
  Shape shape = g.shape();
  shape[axis] = extent;
  return put(zeros(b, {g.dtype(), shape}), places(shape, g.shape(), axis, index), g, ir::Put::Combine::add);
}

// A small part of a large operand is added in place, so that many of them cost what they hold and not the operand each.
bool is_small_part(const Shape& part, const Shape& whole) { return elements(part) <= elements(whole) / 8; }

void pull_slice(const Application& a, Results results, Cotangents& operands) {
  Expr g = cotangent(a, results);
  const auto& slice = a.as<ir::Slice>();
  const Shape& whole = a.operand(0).shape();
  const bool numbers = all_numbers(whole) && all_numbers(slice.starts) && all_numbers(slice.steps) && all_numbers(slice.sizes);
  if (numbers && elements(slice.sizes) > 0 && is_small_part(slice.sizes, whole)) {
    Layout layout{0, slice.sizes, Shape(whole.size(), 1)};
    std::int64_t stride = 1, offset = 0;
    for (std::size_t i = whole.size(); i-- > 0; stride *= whole[i].number()) {
      layout.strides[i] = slice.steps[i].number() * stride;
      offset += slice.starts[i].number() * stride;
    }
    layout.offset = offset;
    return accumulate_into(a, operands, 0, layout, g);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Extent start = slice.starts[i], step = slice.steps[i], size = slice.sizes[i], extent = whole[i];
    if (start == Extent(0) && step == Extent(1) && size == extent) continue;
    const bool known = start.is_number() && step.is_number() && size.is_number() && extent.is_number();
    g = known ? spread(g, i, start.number(), step.number(), extent.number()) : spread(g, i, start, step, extent);
  }
  operands.add(0, g);
}

void pull_pad(const Application& a, Results results, Cotangents& operands) {
  const Expr g = cotangent(a, results), x = a.operand(0);
  const auto& padding = a.as<ir::Padding>();
  if (operands.wants(0)) operands.add(0, ir::formula::emit(Op::slice, {g}, ir::Slice{padding.low, x.shape(), Shape(x.rank(), 1)}));
  if (operands.wants(1)) {
    const Expr inside = pad(splat(a.builder, DType::boolean, x.shape(), 1), padding);
    operands.add(1, sum(where(inside, 0.0, g), first_axes(g.rank())));
  }
}

// Where operand k of a concat begins, from the beginning of the axis or from its end, as far as numbers tell.
std::optional<std::int64_t> distance(const Application& a, std::size_t axis, std::size_t first, std::size_t last) {
  std::int64_t total = 0;
  for (std::size_t i = first; i < last; ++i) {
    const Extent size = a.operand(i).shape()[axis];
    if (size.is_symbol()) return std::nullopt;
    total += size.number();
  }
  return total;
}

void pull_concat(const Application& a, Results results, Cotangents& operands) {
  const Expr g = cotangent(a, results);
  const std::size_t axis = a.as<ir::Concat>().axis, count = a.in.size();
  for (std::size_t k = 0; k < count; ++k) {
    if (!operands.wants(k)) continue;
    const Shape& shape = a.operand(k).shape();
    if (const auto start = distance(a, axis, 0, k)) {
      operands.add(k, narrow(g, axis, *start, shape[axis]));
    } else if (const auto rest = distance(a, axis, k + 1, count)) {
      operands.add(k, flip(narrow(flip(g, axis), axis, *rest, shape[axis]), axis));
    } else {
      Expr index = index_along(a.builder, shape, axis);
      for (std::size_t i = 0; i < k; ++i) index = index + expand(extent_value(a.builder, a.operand(i).shape()[axis]), shape);
      operands.add(k, take(g, places(g.shape(), shape, axis, index)));
    }
  }
}

// ---- elements at computed places

void pull_take(const Application& a, Results g, Cotangents& operands) {
  if (!operands.wants(0)) return;
  operands.replace(0, put(running(a, operands, 0), a.operand(1), cotangent(a, g), ir::Put::Combine::add).id());
}

// Factors of a put's derivative: d result / d x and, for each element of v, d result / d v at its place.
struct PutFactors {
  Expr x, v;
};

// Of a product: what all others at the place multiply to. Where one zero stands among the elements of v, it alone has a factor.
PutFactors product_factors(const Application& a) {
  const Expr x = a.operand(0), index = a.operand(1), v = a.operand(2), y = a.result();
  const Expr others = put(like(x, 1), index, v, ir::Put::Combine::multiply);
  const Expr zero = v == 0.0;
  const Expr zeros_there = take(put(zeros_like(x), index, cast(zero, v.dtype()), ir::Put::Combine::add), index);
  const Expr lone = zero && zeros_there == 1.0;
  const Expr without = put(x, index, where(lone, 1.0, v), ir::Put::Combine::multiply);
  const Expr quotient = take(y, index) / where(zero, 1.0, v);
  return {others, where(lone, take(without, index), quotient)};
}

// Of an extreme: ties share evenly, as scatter_reduce's do.
PutFactors extreme_factors(const Application& a) {
  const Expr x = a.operand(0), index = a.operand(1), v = a.operand(2), y = a.result();
  const Expr x_is = cast(x == y, x.dtype()), v_is = cast(v == take(y, index), v.dtype());
  const Expr share = 1 / put(x_is, index, v_is, ir::Put::Combine::add);
  return {x_is * share, v_is * take(share, index)};
}

PutFactors factors(const Application& a) {
  return a.as<ir::Put>().combine == ir::Put::Combine::multiply ? product_factors(a) : extreme_factors(a);
}

void pull_put(const Application& a, Results results, Cotangents& operands) {
  const Expr g = cotangent(a, results), index = a.operand(1);
  switch (a.as<ir::Put>().combine) {
    case ir::Put::Combine::assign:  // of elements for one place PyTorch gives each the whole
      if (operands.wants(0)) operands.add(0, put(g, index, zeros_like(a.operand(2)), ir::Put::Combine::assign));
      if (operands.wants(2)) operands.add(2, take(g, index));
      return;
    case ir::Put::Combine::add:
      operands.add(0, g);
      if (operands.wants(2)) operands.add(2, take(g, index));
      return;
    default: {
      const PutFactors f = factors(a);
      operands.add(0, g * f.x);
      if (operands.wants(2)) operands.add(2, take(g, index) * f.v);
    }
  }
}

void push_put(const Application& a, std::span<const Expression> t, std::span<Expression> results) {
  if (a.as<ir::Put>().combine <= ir::Put::Combine::add) return push_linear(a, t, results);
  const PutFactors f = factors(a);
  Expr total = t[0] ? Expr{a.builder, t[0]} * f.x : zeros_like(a.operand(0));
  if (t[2]) total = put(total, a.operand(1), Expr{a.builder, t[2]} * f.v, ir::Put::Combine::add);
  results[0] = total.id();
}

}  // namespace

constinit const Rule rule_parameter = constant();
constinit const Rule rule_constant = constant();
constinit const Rule rule_iota = constant();
constinit const Rule rule_wrap_index = constant();
constinit const Rule rule_cast = general(pull_cast, push_cast);
constinit const Rule rule_view = linear(pull_view);
constinit const Rule rule_store = linear(pull_store);
constinit const Rule rule_accumulate = linear(pull_accumulate);
constinit const Rule rule_permute = linear(pull_permute);
constinit const Rule rule_reshape = linear(pull_reshape);
constinit const Rule rule_expand = linear(pull_expand);
constinit const Rule rule_slice = linear(pull_slice);
constinit const Rule rule_flip = linear(pull_flip);
constinit const Rule rule_pad = linear(pull_pad);
constinit const Rule rule_concat = linear(pull_concat);
constinit const Rule rule_take = linear(pull_take);
constinit const Rule rule_put = general(pull_put, push_put);

}  // namespace braze::passes
