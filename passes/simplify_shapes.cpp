// Rules for the ops that move elements: two moves that are one, moves that do nothing, and stores and views that meet.
#include "passes/monomial.h"
#include "passes/rewrite.h"

namespace braze::passes {
namespace {

using ir::Extent;
using ir::Op;
using ir::Shape;
using ir::Value;

const Extent one(1);

// Sums and products of extents where numbers, or a neutral side, make them one extent again.
std::optional<Extent> plus(Extent a, Extent b) {
  if (a == Extent(0)) return b;
  if (b == Extent(0)) return a;
  std::int64_t sum;
  if (a.is_symbol() || b.is_symbol() || __builtin_add_overflow(a.number(), b.number(), &sum)) return std::nullopt;
  return Extent(sum);
}

std::optional<Extent> times(Extent a, Extent b) {
  if (a == one) return b;
  if (b == one) return a;
  if (a == Extent(0) || b == Extent(0)) return Extent(0);
  std::int64_t product;
  if (a.is_symbol() || b.is_symbol() || __builtin_mul_overflow(a.number(), b.number(), &product)) return std::nullopt;
  return Extent(product);
}

std::optional<Extent> minus(Extent a) { return a.is_number() ? std::optional(Extent(-a.number())) : std::nullopt; }

const Shape& shape_of(const Match& m, Value v) { return m.type(v).shape; }

Value reshape(const Match& m, Value v, const Shape& shape) { return m.make(Op::reshape, {v}, ir::ToShape{shape}); }

std::optional<Value> if_same_shape(const Match& m) {
  return shape_of(m, m[0]) == m.type().shape ? std::optional(m[0]) : std::nullopt;
}

// ---- reshape, expand, permute

// Of elements that lie elsewhere, two steps say more than one: which axes are numbered together, and which are not. Where they lie as
// they are numbered, all that is lost on the way is lost for nothing.
std::optional<Value> outer_reshape(const Match& m) {
  const Op from = m.graph().node(m[0]).op;
  const Shape &whole = shape_of(m, m[0]), &between = shape_of(m, m.in(m.root)), &to = m.type().shape;
  const bool moves = from == Op::permute || from == Op::view || from == Op::slice || from == Op::flip || from == Op::expand;
  const auto count = [](const Shape& shape) {
    return std::count_if(shape.begin(), shape.end(), [](Extent e) { return e != one; });
  };
  if (moves && count(between) != count(to) && count(between) != count(whole)) return std::nullopt;
  return reshape(m, m[0], to);
}

std::optional<Value> outer_expand(const Match& m) { return m.make(Op::expand, {m[0]}, ir::ToShape{m.type().shape}); }

// Axes of extent 1 in front are what expand adds anyway.
std::optional<Value> expand_of_leading_ones(const Match& m) {
  const Shape &from = shape_of(m, m[0]), &to = shape_of(m, m.in(m.root));
  if (to.size() < from.size()) return std::nullopt;
  const std::size_t lead = to.size() - from.size();
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] != (i < lead ? one : from[i - lead])) return std::nullopt;
  return outer_expand(m);
}

std::optional<Value> permute_permute(const Match& m) {
  const auto &outer = m.as<ir::Permutation>(m.root).order, &inner = m.as<ir::Permutation>(m.in(m.root)).order;
  ir::Permutation both;
  for (std::uint8_t axis : outer) both.order.push_back(inner[axis]);
  return m.make(Op::permute, {m[0]}, both);
}

// Axes of extent 1 go anywhere; if the others keep their order, no element moves.
std::optional<Value> permute_of_ones(const Match& m) {
  const Shape& from = shape_of(m, m[0]);
  int last = -1;
  bool moved = false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int axis = m.as<ir::Permutation>(m.root).order[i];
    moved |= static_cast<std::size_t>(axis) != i;
    if (from[static_cast<std::size_t>(axis)] == one) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  if (!moved) return m[0];
  return reshape(m, m[0], m.type().shape);
}

std::optional<Value> move_of_splat(const Match& m) {
  const auto literal = splat(m.graph(), m.root);
  if (!literal) return std::nullopt;
  return m.splat(*literal, m.type().shape);
}

// ---- slice, flip, pad, concat

std::optional<Value> whole_slice(const Match& m) {
  const auto& a = m.as<ir::Slice>(m.root);
  const Shape& from = shape_of(m, m[0]);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (a.starts[i] != Extent(0) || a.sizes[i] != from[i] || (a.steps[i] != one && from[i] != one)) return std::nullopt;
  return m[0];
}

// Element i of the outer one is start + i * step of the inner one.
std::optional<Value> slice_slice(const Match& m) {
  const auto &outer = m.as<ir::Slice>(m.root), &inner = m.as<ir::Slice>(m.in(m.root));
  ir::Slice both{{}, outer.sizes, {}};
  for (std::size_t i = 0; i < outer.sizes.size(); ++i) {
    const auto skipped = times(outer.starts[i], inner.steps[i]);
    const auto start = skipped ? plus(inner.starts[i], *skipped) : std::nullopt;
    const auto step = times(outer.steps[i], inner.steps[i]);
    if (!start || !step) return std::nullopt;
    both.starts.push_back(*start);
    both.steps.push_back(*step);
  }
  return m.make(Op::slice, {m[0]}, both);
}

// The last element of an axis of the slice, whose step turns round.
std::optional<Value> flip_slice(const Match& m) {
  ir::Slice a = m.as<ir::Slice>(m.in(m.root));
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if (!(m.as<ir::Axes>(m.root).mask >> i & 1) || a.sizes[i] == Extent(0)) continue;
    const auto steps = plus(a.sizes[i], Extent(-1));
    const auto way = steps ? times(*steps, a.steps[i]) : std::nullopt;
    const auto start = way ? plus(a.starts[i], *way) : std::nullopt;
    const auto step = minus(a.steps[i]);
    if (!start || !step) return std::nullopt;
    a.starts[i] = *start;
    a.steps[i] = *step;
  }
  return m.make(Op::slice, {m[0]}, a);
}

std::optional<Value> slice_flip(const Match& m) {
  ir::Slice a = m.as<ir::Slice>(m.root);
  const Shape& from = shape_of(m, m[0]);
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if (!(m.as<ir::Axes>(m.in(m.root)).mask >> i & 1)) continue;
    const auto back = minus(a.starts[i]), step = minus(a.steps[i]), last = plus(from[i], Extent(-1));
    const auto start = back && last ? plus(*last, *back) : std::nullopt;
    if (!start || !step) return std::nullopt;
    a.starts[i] = *start;
    a.steps[i] = *step;
  }
  return m.make(Op::slice, {m[0]}, a);
}

// A slice of axes along which an expand repeats is a smaller expand.
std::optional<Value> slice_expand(const Match& m) {
  const auto& a = m.as<ir::Slice>(m.root);
  const Shape &from = shape_of(m, m[0]), &expanded = shape_of(m, m.in(m.root));
  const std::size_t lead = expanded.size() - from.size();
  for (std::size_t i = 0; i < expanded.size(); ++i) {
    const bool repeats = i < lead || (from[i - lead] == one && expanded[i] != one);
    if (!repeats && (a.starts[i] != Extent(0) || a.steps[i] != one || a.sizes[i] != expanded[i])) return std::nullopt;
  }
  return outer_expand(m);
}

std::optional<Value> flip_flip(const Match& m) {
  const std::uint64_t mask = m.as<ir::Axes>(m.root).mask ^ m.as<ir::Axes>(m.in(m.root)).mask;
  if (mask == 0) return m[0];
  return m.make(Op::flip, {m[0]}, ir::Axes{mask});
}

std::optional<Value> flip_of_ones(const Match& m) {
  for (std::size_t i = 0; i < m.type().shape.size(); ++i)
    if (m.as<ir::Axes>(m.root).mask >> i & 1 && m.type().shape[i] != one) return std::nullopt;
  return m[0];
}

std::optional<Value> empty_pad(const Match& m) {
  const auto zero = [](Extent e) { return e == Extent(0); };
  const auto& a = m.as<ir::Padding>(m.root);
  if (!std::all_of(a.low.begin(), a.low.end(), zero) || !std::all_of(a.high.begin(), a.high.end(), zero)) return std::nullopt;
  return if_same_shape(m);
}

// ---- view, store

// Whether a layout lists all elements of a dense tensor with this many, in order.
bool lists_all(const ir::Layout& layout, const Shape& storage) {
  if (layout.offset != Extent(0)) return false;
  std::optional<Monomial> stride = Monomial();
  for (std::size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.sizes[i] == one) continue;
    if (Monomial(layout.strides[i]) != *stride) return false;
    stride = *stride * Monomial(layout.sizes[i]);
    if (!stride) return false;
  }
  const auto all = elements(storage);
  return all && *all == *stride;
}

// No two elements of a layout share a place. Where symbols hide it, the law of `store` says so: the recorder refuses others.
bool is_injective(const ir::Layout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // |stride|, size
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i].is_symbol() || layout.strides[i].is_symbol()) return true;
    if (layout.sizes[i].number() == 0) return true;
    if (layout.sizes[i] != one) axes.emplace_back(std::abs(layout.strides[i].number()), layout.sizes[i].number());
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);  // within a storage, which infer checked
  }
  return true;
}

std::optional<Value> whole_view(const Match& m) {
  if (!lists_all(m.as<ir::Layout>(m.root), shape_of(m, m[0]))) return std::nullopt;
  return reshape(m, m[0], m.type().shape);
}

std::optional<Value> whole_store(const Match& m) {
  if (!lists_all(m.as<ir::Layout>(m.root), shape_of(m, m[0]))) return std::nullopt;
  return reshape(m, m[1], m.type().shape);
}

std::optional<Value> view_store(const Match& m) {
  const auto& layout = m.as<ir::Layout>(m.root);
  if (layout != m.as<ir::Layout>(m.in(m.root)) || !is_injective(layout)) return std::nullopt;
  return m[1];
}

std::optional<Value> store_store(const Match& m) {
  const auto& layout = m.as<ir::Layout>(m.root);
  if (layout != m.as<ir::Layout>(m.in(m.root))) return std::nullopt;
  return m.make(Op::store, {m[0], m[2]}, layout);
}

std::optional<Value> store_view(const Match& m) {
  return m.as<ir::Layout>(m.root) == m.as<ir::Layout>(m.in(m.root, 1)) ? std::optional(m[0]) : std::nullopt;
}

// A layout counts the operand's row-major elements, whatever its shape.
std::optional<Value> view_reshape(const Match& m) { return m.make(Op::view, {m[0]}, m.as<ir::Layout>(m.root)); }

}  // namespace

std::vector<Rule> shape_rules() {
  using namespace patterns;
  using patterns::reshape;
  const Pattern x = any(0), y = any(1), z = any(2);
  return {
      {"reshape-same", reshape(x), if_same_shape},
      {"reshape-splat", reshape(x), move_of_splat},
      {"reshape-reshape", reshape(reshape(x)), outer_reshape},
      {"expand-same", expand(x), if_same_shape},
      {"expand-expand", expand(expand(x)), outer_expand},
      {"expand-reshape", expand(reshape(x)), expand_of_leading_ones},
      {"permute-splat", permute(x), move_of_splat},
      {"permute-ones", permute(x), permute_of_ones},
      {"permute-permute", permute(permute(x)), permute_permute},

      {"slice-splat", slice(x), move_of_splat},
      {"slice-whole", slice(x), whole_slice},
      {"slice-slice", slice(slice(x)), slice_slice},
      {"slice-flip", slice(flip(x)), slice_flip},
      {"slice-expand", slice(expand(x)), slice_expand},
      {"flip-splat", flip(x), move_of_splat},
      {"flip-ones", flip(x), flip_of_ones},
      {"flip-flip", flip(flip(x)), flip_flip},
      {"flip-slice", flip(slice(x)), flip_slice},
      {"pad-nothing", pad(x, y), empty_pad},
      {"concat-one", concat(x), if_same_shape},

      {"view-splat", view(x), move_of_splat},
      {"view-whole", view(x), whole_view},
      {"view-store", view(store(x, y)), view_store},
      {"view-reshape", view(reshape(x)), view_reshape},
      {"store-whole", store(x, y), whole_store},
      {"store-store", store(store(x, y), z), store_store},
      {"store-view", store(x, view(x)), store_view},
  };
}

}  // namespace braze::passes
