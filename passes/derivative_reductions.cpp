// Reductions, scans and sort. A product's and a running product's derivatives divide by nothing, so that zeros need no case of their own
// and higher orders come right; what chooses elements passes to the chosen ones, and `max` and `min` share among equals.
#include <bit>
#include <limits>

#include "passes/derivative_rules.h"

namespace braze::passes {

using namespace ir::formula;
using ir::Expr;
using ir::Expression;
using ir::Extent;
using ir::Op;
using ir::Shape;

namespace {

using Results = std::span<const Expression>;
using Tangents = std::span<const Expression>;

std::uint64_t mask_of(const Application& a) { return a.as<ir::Reduced>().mask; }
std::size_t axis_of(std::uint64_t mask) { return static_cast<std::size_t>(std::countr_zero(mask)); }

Expr scan(Op op, const Expr& x, std::size_t axis) { return ir::formula::emit(op, {x}, ir::Scan{static_cast<std::uint32_t>(axis)}); }
Expr scan_from_end(Op op, const Expr& x, std::size_t axis) { return flip(scan(op, flip(x, axis), axis), axis); }

Expr widened(const Expr& x) { return is_half(x.dtype()) ? cast(x, DType::f32) : x; }

// ---- reductions

void pull_sum(const Application& a, Results g, Cotangents& operands) {
  if (operands.wants(0)) operands.add(0, restore({a.builder, g[0]}, mask_of(a), a.operand(0).shape()));
}

// For each element along an axis the product of the others.
Expr product_of_others(const Expr& x, std::size_t axis) {
  return shifted(scan(Op::cumprod, x, axis), axis, false, 1) * shifted(scan_from_end(Op::cumprod, x, axis), axis, true, 1);
}

// A product over several axes, an axis at a time from the last on: what each step reduces.
struct Stage {
  Expr x;
  std::size_t axis;
};
std::vector<Stage> product_stages(const Application& a) {
  std::vector<Stage> stages;
  Expr x = widened(a.operand(0));
  for (std::uint64_t mask = mask_of(a); mask != 0;) {
    const auto axis = static_cast<std::size_t>(63 - std::countl_zero(mask));
    mask &= ~(std::uint64_t{1} << axis);
    stages.push_back({x, axis});
    if (mask != 0) x = reduce(Op::prod, x, std::uint64_t{1} << axis);
  }
  return stages;
}

void pull_prod(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const std::vector<Stage> stages = product_stages(a);
  Expr g = widened({a.builder, results[0]});
  for (std::size_t i = stages.size(); i-- > 0;)
    g = restore(g, std::uint64_t{1} << stages[i].axis, stages[i].x.shape()) * product_of_others(stages[i].x, stages[i].axis);
  operands.add(0, cast(g, a.operand(0).dtype()));
}

void push_prod(const Application& a, Tangents tangents, std::span<Expression> results) {
  Expr t = widened({a.builder, tangents[0]});
  for (const Stage& stage : product_stages(a)) t = sum(t * product_of_others(stage.x, stage.axis), std::uint64_t{1} << stage.axis);
  results[0] = cast(t, a.result().dtype()).id();
}

// Where the extreme stands, as 1 and 0 of x's dtype, and how often.
struct Ties {
  Expr is, count;
};
Ties ties(const Application& a) {
  const Expr x = a.operand(0);
  const Expr is = cast(x == restore(a.result(), mask_of(a), x.shape()), x.dtype());
  return {is, sum(is, mask_of(a))};
}

void pull_extreme(const Application& a, Results g, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const Ties t = ties(a);
  const Shape& shape = a.operand(0).shape();
  operands.add(0, restore({a.builder, g[0]}, mask_of(a), shape) * t.is / restore(t.count, mask_of(a), shape));
}

void push_extreme(const Application& a, Tangents t, std::span<Expression> results) {
  const Ties found = ties(a);
  results[0] = (sum(Expr{a.builder, t[0]} * found.is, mask_of(a)) / found.count).id();
}

void pull_indexed(const Application& a, Results g, Cotangents& operands) {
  if (!operands.wants(0) || !g[0]) return;
  const Shape& shape = a.operand(0).shape();
  const Expr index = restore(a.result(1), mask_of(a), shape);
  const Expr is = index == index_along(a.builder, shape, axis_of(mask_of(a)));
  operands.add(0, where(is, restore({a.builder, g[0]}, mask_of(a), shape), 0.0));
}

void push_indexed(const Application& a, Tangents t, std::span<Expression> results) {
  const Shape& shape = a.operand(0).shape();
  const Shape line = kept(shape, mask_of(a));
  const Expr index = reshape(a.result(1), line);
  results[0] = reshape(take({a.builder, t[0]}, places(shape, line, axis_of(mask_of(a)), index)), a.result().shape()).id();
}

// ---- scans

std::size_t scan_axis(const Application& a) { return a.as<ir::Scan>().axis; }

void pull_cumsum(const Application& a, Results g, Cotangents& operands) {
  if (operands.wants(0)) operands.add(0, scan_from_end(Op::cumsum, {a.builder, g[0]}, scan_axis(a)));
}

// y[k] = y[k - 1] x[k].
void pull_cumprod(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const std::size_t axis = scan_axis(a);
  const Expr x = widened(a.operand(0)), g = widened({a.builder, results[0]});
  const Expr below = linear_recurrence(shifted(x, axis, true, 0), g, axis, true);
  operands.add(0, cast(below * shifted(widened(a.result()), axis, false, 1), a.operand(0).dtype()));
}
void push_cumprod(const Application& a, Tangents t, std::span<Expression> results) {
  const std::size_t axis = scan_axis(a);
  const Expr x = widened(a.operand(0)), before = shifted(widened(a.result()), axis, false, 1);
  results[0] = cast(linear_recurrence(x, before * widened({a.builder, t[0]}), axis, false), a.result().dtype()).id();
}

// y[k] = log(e^y[k - 1] + e^x[k]): shares of two, e^(y[k - 1] - y[k]) and e^(x[k] - y[k]), both at most 1.
Expr share(const Expr& part, const Expr& whole) { return where(part == whole, 1.0, exp(part - whole)); }

void pull_logcumsumexp(const Application& a, Results results, Cotangents& operands) {
  if (!operands.wants(0)) return;
  const std::size_t axis = scan_axis(a);
  const Expr x = widened(a.operand(0)), y = widened(a.result()), g = widened({a.builder, results[0]});
  const Expr next = shifted(y, axis, true, std::numeric_limits<double>::infinity());
  operands.add(0, cast(linear_recurrence(share(y, next), g, axis, true) * share(x, y), a.operand(0).dtype()));
}
void push_logcumsumexp(const Application& a, Tangents t, std::span<Expression> results) {
  const std::size_t axis = scan_axis(a);
  const Expr x = widened(a.operand(0)), y = widened(a.result());
  const Expr before = shifted(y, axis, false, -std::numeric_limits<double>::infinity());
  const Expr own = share(x, y) * widened({a.builder, t[0]});
  results[0] = cast(linear_recurrence(share(before, y), own, axis, false), a.result().dtype()).id();
}

// ---- what has an index for each element: sort and the running extremes

std::size_t indexed_axis(const Application& a) { return a.op == Op::sort ? a.as<ir::Sort>().axis : scan_axis(a); }
Expr sources(const Application& a) {
  const Shape& shape = a.operand(0).shape();
  return places(shape, shape, indexed_axis(a), a.result(1));
}
void pull_picked(const Application& a, Results g, Cotangents& operands) {
  if (!operands.wants(0) || !g[0]) return;
  operands.replace(0, put(running(a, operands, 0), sources(a), {a.builder, g[0]}, ir::Put::Combine::add).id());
}
void push_picked(const Application& a, Tangents t, std::span<Expression> results) {
  results[0] = take({a.builder, t[0]}, sources(a)).id();
}

// ---- recurrences

// The same by steps of 1, 2, 4, ...: log2(n) elementwise steps.
Expr shifted_by(const Expr& x, std::size_t axis, std::int64_t distance, bool towards_beginning, double fill) {
  const std::int64_t n = x.shape()[axis].number();
  ir::Padding p{Shape(x.rank(), 0), Shape(x.rank(), 0), x.shape()};
  (towards_beginning ? p.high : p.low)[axis] = distance;
  return pad(narrow(x, axis, towards_beginning ? distance : 0, n - distance), p, fill);
}

Expr doubling(Expr c, Expr b, std::size_t axis, bool from_end) {
  const std::int64_t n = b.shape()[axis].number();
  for (std::int64_t distance = 1; distance < n; distance *= 2) {
    b = b + c * shifted_by(b, axis, distance, from_end, 0);
    if (2 * distance < n) c = c * shifted_by(c, axis, distance, from_end, 0);
  }
  return b;
}

// The same by all pairs, where the number of steps is not known: sum over i of b[i] times the c between i and k.
Expr pairwise(const Expr& c, const Expr& b, std::size_t axis) {
  Shape square = b.shape(), from = b.shape(), to = b.shape();
  square.insert(axis, b.shape()[axis]);
  from.insert(axis + 1, 1);
  to.insert(axis, 1);
  const Expr i = index_along(b.builder(), square, axis), k = index_along(b.builder(), square, axis + 1);
  const Expr between = scan(Op::cumprod, where(k > i, expand(reshape(c, to), square), 1.0), axis + 1);
  return sum(where(i <= k, expand(reshape(b, from), square) * between, 0.0), std::uint64_t{1} << axis);
}

}  // namespace

Expr shifted(const Expr& x, std::size_t axis, bool towards_beginning, double fill) {
  const Extent n = x.shape()[axis];
  if (n == Extent(0)) return x;
  if (n.is_number()) return shifted_by(x, axis, 1, towards_beginning, fill);
  if (towards_beginning) return flip(shifted(flip(x, axis), axis, false, fill), axis);
  const Expr index = index_along(x.builder(), x.shape(), axis);
  const Expr before = maximum(index - like(index, 1), like(index, 0));
  return where(index == like(index, 0), fill, take(x, places(x.shape(), x.shape(), axis, before)));
}

Expr linear_recurrence(const Expr& c, const Expr& b, std::size_t axis, bool from_end) {
  if (b.shape()[axis].is_number()) return doubling(c, b, axis, from_end);
  if (!from_end) return pairwise(c, b, axis);
  return flip(pairwise(flip(c, axis), flip(b, axis), axis), axis);
}

constinit const Rule rule_sum = linear(pull_sum);
constinit const Rule rule_prod = general(pull_prod, push_prod);
constinit const Rule rule_max = general(pull_extreme, push_extreme);
constinit const Rule rule_min = general(pull_extreme, push_extreme);
constinit const Rule rule_any = constant();
constinit const Rule rule_all = constant();
constinit const Rule rule_argmax = constant();
constinit const Rule rule_argmin = constant();
constinit const Rule rule_max_with_index = general(pull_indexed, push_indexed);
constinit const Rule rule_min_with_index = general(pull_indexed, push_indexed);
constinit const Rule rule_cumsum = linear(pull_cumsum);
constinit const Rule rule_cumprod = general(pull_cumprod, push_cumprod);
constinit const Rule rule_logcumsumexp = general(pull_logcumsumexp, push_logcumsumexp);
constinit const Rule rule_cummax = general(pull_picked, push_picked);
constinit const Rule rule_cummin = general(pull_picked, push_picked);
constinit const Rule rule_sort = general(pull_picked, push_picked);
constinit const Rule rule_draw = constant();

}  // namespace braze::passes
