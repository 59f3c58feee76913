// A view whose strides are those of the operand's row-major order, or of a grid that divides it, is a slice, a permutation and an
// expansion, which lowering fuses and simplify understands. What is not provably so stays a view.
#include <algorithm>
#include <numeric>

#include "passes/monomial.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace braze::passes {
namespace {

using ir::Extent;
using ir::Layout;
using ir::Op;
using ir::Shape;
using ir::Value;

const Extent one(1), zero(0);

// An axis of a view along which the address changes.
struct Moving {
  std::size_t axis;  // of the view
  Extent size;
  Monomial distance;  // |stride|
  bool backwards;
};

// A view as moves over an operand of a shape.
struct Plan {
  ir::Slice slice;                  // of the operand
  std::vector<std::size_t> source;  // the operand's axis of each moving axis, in the view's order
};

std::vector<Moving> moving_axes(const Layout& layout) {
  std::vector<Moving> found;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    const Extent stride = layout.strides[i];
    if (layout.sizes[i] == one || stride == zero) continue;
    const bool backwards = stride.is_number() && stride.number() < 0;
    found.push_back({i, layout.sizes[i], backwards ? Monomial(Extent(-stride.number())) : Monomial(stride), backwards});
  }
  return found;
}

// Row-major strides; nullopt where they overflow.
std::optional<std::vector<Monomial>> dense_strides(const Shape& shape) {
  std::vector<Monomial> strides(shape.size());
  for (std::size_t i = shape.size(); i-- > 1;) {
    const auto next = strides[i] * Monomial(shape[i]);
    if (!next) return std::nullopt;
    strides[i - 1] = *next;
  }
  return strides;
}

// The place of the layout's first element, an index an axis.
std::optional<Shape> first_element(Extent offset, const Shape& shape, const std::vector<Monomial>& strides) {
  Shape digits(shape.size(), zero);
  if (offset == zero) return digits;
  if (offset.is_symbol()) {
    if (shape.size() != 1) return std::nullopt;
    digits[0] = offset;
    return digits;
  }
  std::int64_t rest = offset.number();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!strides[i].is_number() || strides[i].number() == 0) return std::nullopt;
    digits[i] = rest / strides[i].number();
    rest %= strides[i].number();
  }
  return digits;
}

// Whether size steps from `start` stay on an axis, so that no address carries into the next one. On the outermost axis they do
// because a view lies within its operand.
bool stays(Extent start, Extent size, Extent step, Extent extent, bool outermost) {
  if (start.is_number() && size.is_number() && step.is_number() && extent.is_number()) {
    const __int128 last = start.number() + static_cast<__int128>(size.number() - 1) * step.number();
    return start.number() < extent.number() && last >= 0 && last < extent.number();
  }
  if (step.is_number() && step.number() < 0) return false;
  return outermost || (start == zero && step == one && size == extent);
}

std::optional<Plan> plan_over(const Shape& shape, const Layout& layout, const std::vector<Moving>& moving) {
  const auto strides = dense_strides(shape);
  if (!strides) return std::nullopt;
  const auto first = first_element(layout.offset, shape, *strides);
  if (!first) return std::nullopt;
  Plan plan{{*first, Shape(shape.size(), one), Shape(shape.size(), one)}, {}};
  std::vector<bool> used(shape.size());
  const auto outermost = [&](std::size_t axis) {  // nothing but extents of 1 before it
    return std::all_of(shape.begin(), shape.begin() + axis, [](Extent e) { return e == one; });
  };
  for (const Moving& m : moving) {
    std::size_t axis = 0;  // the outermost axis whose stride divides the distance
    std::optional<Extent> step;
    for (; axis < shape.size(); ++axis) {
      if (used[axis] || shape[axis] == one) continue;
      const auto ratio = m.distance / (*strides)[axis];
      if (ratio) step = ratio->extent();
      if (step) break;
    }
    if (!step) return std::nullopt;
    if (m.backwards) {
      if (step->is_symbol()) return std::nullopt;
      step = Extent(-step->number());
    }
    if (!stays((*first)[axis], m.size, *step, shape[axis], outermost(axis))) return std::nullopt;
    used[axis] = true;
    plan.slice.sizes[axis] = m.size;
    plan.slice.steps[axis] = *step;
    plan.source.push_back(axis);
  }
  // An axis left at one place must have it; only the outermost one may lie beyond what numbers show.
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!used[i] && !stays((*first)[i], one, one, shape[i], outermost(i)) && (*first)[i] != zero) return std::nullopt;
  return plan;
}

// Builds a plan: slice, then the moving axes in the view's order, then those that repeat.
Value build(const Match& m, Value x, const Layout& layout, const Plan& plan, const std::vector<Moving>& moving) {
  x = m.make(Op::slice, {x}, plan.slice);
  std::vector<std::size_t> in_order = plan.source;
  std::sort(in_order.begin(), in_order.end());
  Shape moved;
  for (const std::size_t axis : in_order) moved.push_back(plan.slice.sizes[axis]);
  x = m.make(Op::reshape, {x}, ir::ToShape{moved});
  ir::Permutation permutation;
  for (const std::size_t axis : plan.source)
    permutation.order.push_back(static_cast<std::uint8_t>(std::find(in_order.begin(), in_order.end(), axis) - in_order.begin()));
  x = m.make(Op::permute, {x}, permutation);
  Shape with_ones(layout.sizes.size(), one);
  for (const Moving& axis : moving) with_ones[axis.axis] = axis.size;
  x = m.make(Op::reshape, {x}, ir::ToShape{with_ones});
  return m.make(Op::expand, {x}, ir::ToShape{layout.sizes});
}

// The shape that a layout's distances cut a flat operand into: [count / d1, d1 / d2, ..., dk], distances falling.
std::optional<Shape> grid(const Monomial& count, std::vector<Moving> moving) {
  std::sort(moving.begin(), moving.end(), [](const Moving& a, const Moving& b) {
    return std::pair(a.distance.symbol_count(), a.distance.number()) > std::pair(b.distance.symbol_count(), b.distance.number());
  });
  Shape shape;
  Monomial whole = count;
  const auto cut = [&](const Monomial& part) {
    const auto ratio = whole / part;
    const auto extent = ratio ? ratio->extent() : std::nullopt;
    if (extent) shape.push_back(*extent);
    whole = part;
    return extent.has_value();
  };
  for (const Moving& m : moving)
    if (!cut(m.distance)) return std::nullopt;
  if (whole != Monomial() && !cut(Monomial())) return std::nullopt;
  return shape;
}

// A block of a flat operand: where the layout begins, in whole strides of its outermost axis.
struct Block {
  std::int64_t start, length;
};

std::optional<Block> block_of(const Monomial& count, const Layout& layout, const std::vector<Moving>& moving) {
  if (layout.offset.is_symbol() || !count.is_number() || moving.empty()) return std::nullopt;
  Block block{layout.offset.number(), 0};
  for (const Moving& m : moving) {
    if (!m.distance.is_number() || m.size.is_symbol()) return std::nullopt;
    if (m.backwards) block.start -= m.distance.number() * (m.size.number() - 1);
    block.length = std::max(block.length, m.distance.number() * m.size.number());
  }
  if (block.start < 0 || block.length > count.number() - block.start) return std::nullopt;
  return block;
}

std::optional<Value> structure(const Match& m) {
  const Layout& layout = m.as<Layout>(m.root);
  const Shape& shape = m.type(m[0]).shape;
  const auto count = elements(shape);
  if (!count || *count == Monomial(zero) || std::find(layout.sizes.begin(), layout.sizes.end(), zero) != layout.sizes.end())
    return std::nullopt;
  const std::vector<Moving> moving = moving_axes(layout);
  if (const auto plan = plan_over(shape, layout, moving)) return build(m, m[0], layout, *plan, moving);

  if (const auto cut = grid(*count, moving))
    if (const auto plan = plan_over(*cut, layout, moving))
      return build(m, m.make(Op::reshape, {m[0]}, ir::ToShape{*cut}), layout, *plan, moving);

  // Only of a flat operand: of another, a block would cut across its axes (a diagonal is one), and the view is better.
  const auto block = shape.size() == 1 ? block_of(*count, layout, moving) : std::nullopt;
  if (!block) return std::nullopt;
  Layout within = layout;
  within.offset = Extent(layout.offset.number() - block->start);
  const auto cut = grid(Monomial(Extent(block->length)), moving);
  const auto plan = cut ? plan_over(*cut, within, moving) : std::nullopt;
  if (!plan) return std::nullopt;
  const Value part = m.make(Op::slice, {m[0]}, ir::Slice{{Extent(block->start)}, {Extent(block->length)}, {one}});
  return build(m, m.make(Op::reshape, {part}, ir::ToShape{*cut}), within, *plan, moving);
}

}  // namespace

// With the rules of simplify, whose moves meet those that views become.
Module structure_views(Module module, const Options& options) {
  static const RuleSet rules([] {
    std::vector<Rule> all(simplify_rules().rules().begin(), simplify_rules().rules().end());
    all.push_back({"structure-view", patterns::view(patterns::any(0)), structure});
    return all;
  }());
  const bool any_view = [&] {
    for (ir::NodeId id = 0; id < module.graph.size(); ++id)
      if (module.graph[id].op == Op::view) return true;
    return false;
  }();
  if (any_view) module.graph = rewrite(module.graph, rules, options.fast_math);
  return module;
}

}  // namespace braze::passes
