// ir::Builder: how derivative and batching rules write ops, whatever holds them. A graph is one implementation (GraphBuilder, below);
// an adapter over pending nodes is another. Laws:
//  * a rule sees types alone, and every extent may be a symbol: shapes are taken from other expressions, never computed, unless
//    all extents involved are numbers;
//  * an Expression belongs to the builder that gave it. {node, i} is result i of the op whose result 0 is {node, 0}; a
//    default-made one is none, and in a rule stands for a symbolic zero;
//  * operands arrive cast and expanded, as infer demands; nothing here promotes.
#pragma once

#include <array>
#include <optional>

#include "ir/graph.h"

namespace braze::ir {

using Expression = Value;

class Builder {
 public:
  virtual ~Builder() = default;
  // What it returns stays where it is as long as the builder lives.
  virtual const Type& type(Expression e) const = 0;
  // Applies an op and returns its result 0. Throws infer's errors.
  virtual Expression emit(Op op, std::span<const Expression> in, Attributes attributes) = 0;
};

// Appends to a graph; what is there already is found and not made again. `location` goes to the nodes made.
class GraphBuilder final : public Builder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}
  const Type& type(Expression e) const override { return graph_.type(e); }
  Expression emit(Op op, std::span<const Expression> in, Attributes attributes) override {
    return {graph_.add(op, in, std::move(attributes), location), 0};
  }

  Location location;

 private:
  Graph& graph_;
};

// An expression with its builder, so that rules read as formulas: g * (1 - y * y).
class Expr {
 public:
  Expr() = default;  // none
  Expr(Builder& builder, Expression id) : builder_(&builder), id_(id) {}

  explicit operator bool() const { return static_cast<bool>(id_); }
  Expression id() const { return id_; }
  Builder& builder() const { return *builder_; }
  const Type& type() const { return builder_->type(id_); }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  std::size_t rank() const { return shape().size(); }
  Expr result(std::uint32_t i) const { return {*builder_, {id_.node, i}}; }  // of the op whose result 0 this is

 private:
  Builder* builder_ = nullptr;
  Expression id_;
};

namespace formula {

inline Expr emit(Op op, std::initializer_list<Expr> in, Attributes attributes = None{}) {
  std::array<Expression, 4> operands;
  std::size_t count = 0;
  for (const Expr& e : in) operands[count++] = e.id();
  Builder& builder = in.begin()->builder();
  return {builder, builder.emit(op, std::span<const Expression>(operands.data(), count), std::move(attributes))};
}

// Every elementwise row is a function.
#define BRAZE_UNARY(name, accepts, result) \
  inline Expr name(const Expr& a) { return emit(Op::name, {a}); }
#define BRAZE_BINARY(name, accepts, result, algebra) \
  inline Expr name(const Expr& a, const Expr& b) { return emit(Op::name, {a, b}); }
#define BRAZE_TERNARY(name, accepts, result) \
  inline Expr name(const Expr& a, const Expr& b, const Expr& c) { return emit(Op::name, {a, b, c}); }
#include "ir/ops.def"

inline bool all_numbers(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](Extent e) { return e.is_number(); });
}

inline Expr expand(const Expr& x, const Shape& shape) { return x.shape() == shape ? x : emit(Op::expand, {x}, ToShape{shape}); }
inline Expr reshape(const Expr& x, const Shape& shape) { return x.shape() == shape ? x : emit(Op::reshape, {x}, ToShape{shape}); }
inline Expr cast(const Expr& x, DType type) { return x.dtype() == type ? x : emit(Op::cast, {x}, Cast{type}); }

// A number in all elements of a shape.
template <class T>
  requires std::is_arithmetic_v<T>
Expr splat(Builder& builder, DType type, const Shape& shape, T value) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  return expand({builder, builder.emit(Op::constant, {}, literal(type, static_cast<Wide>(value)))}, shape);
}
template <class T>
  requires std::is_arithmetic_v<T>
Expr like(const Expr& x, T value) {
  return splat(x.builder(), x.dtype(), x.shape(), value);
}
inline Expr zeros_like(const Expr& x) { return like(x, 0); }
inline Expr zeros(Builder& builder, const Type& type) { return splat(builder, type.dtype, type.shape, 0); }

#define BRAZE_OPERATOR(symbol, name)                                                   \
  inline Expr operator symbol(const Expr& a, const Expr& b) { return name(a, b); }     \
  inline Expr operator symbol(const Expr& a, double b) { return name(a, like(a, b)); } \
  inline Expr operator symbol(double a, const Expr& b) { return name(like(b, a), b); }
BRAZE_OPERATOR(+, add)
BRAZE_OPERATOR(-, sub)
BRAZE_OPERATOR(*, mul)
BRAZE_OPERATOR(/, div)
BRAZE_OPERATOR(==, eq)
BRAZE_OPERATOR(<, lt)
BRAZE_OPERATOR(<=, le)
BRAZE_OPERATOR(>, gt)
BRAZE_OPERATOR(>=, ge)
#undef BRAZE_OPERATOR
inline Expr operator-(const Expr& a) { return neg(a); }
inline Expr operator&&(const Expr& a, const Expr& b) { return logical_and(a, b); }
inline Expr operator||(const Expr& a, const Expr& b) { return logical_or(a, b); }
inline Expr where(const Expr& condition, const Expr& a, double b) { return where(condition, a, like(a, b)); }
inline Expr where(const Expr& condition, double a, const Expr& b) { return where(condition, like(b, a), b); }

// ---- axes

inline Expr permute(const Expr& x, const Permutation& order) { return emit(Op::permute, {x}, order); }
// The last two axes exchanged.
inline Expr transpose(const Expr& x) {
  Permutation p;
  for (std::size_t i = 0; i < x.rank(); ++i) p.order.push_back(static_cast<std::uint8_t>(i));
  std::swap(p.order[x.rank() - 1], p.order[x.rank() - 2]);
  return permute(x, p);
}
inline Expr flip(const Expr& x, std::size_t axis) { return emit(Op::flip, {x}, Axes{std::uint64_t{1} << axis}); }

// The part [start, start + size) of an axis.
inline Expr narrow(const Expr& x, std::size_t axis, Extent start, Extent size) {
  if (start == Extent(0) && size == x.shape()[axis]) return x;
  Slice s{Shape(x.rank(), 0), x.shape(), Shape(x.rank(), 1)};
  s.starts[axis] = start;
  s.sizes[axis] = size;
  return emit(Op::slice, {x}, s);
}
inline Expr concat(const Expr& a, const Expr& b, std::size_t axis, Extent extent) {
  return emit(Op::concat, {a, b}, Concat{static_cast<std::uint32_t>(axis), extent});
}
inline Expr pad(const Expr& x, const Padding& padding, double value = 0) {
  return emit(Op::pad, {x, splat(x.builder(), x.dtype(), {}, value)}, padding);
}
inline Expr dot(const Expr& a, const Expr& b, Dot how = {}) { return emit(Op::dot, {a, b}, how); }

inline Expr reduce(Op op, const Expr& x, std::uint64_t mask) { return emit(op, {x}, Reduced{mask}); }
inline Expr sum(const Expr& x, std::uint64_t mask) { return mask == 0 ? x : reduce(Op::sum, x, mask); }
// A shape with the extents of `mask` set to 1.
inline Shape kept(Shape shape, std::uint64_t mask) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (mask >> i & 1) shape[i] = 1;
  return shape;
}
// The reverse of what a reduction over `mask` did to a shape: the axes come back, repeating.
inline Expr restore(const Expr& reduced, std::uint64_t mask, const Shape& shape) {
  return expand(reshape(reduced, kept(shape, mask)), shape);
}

// The index along an axis, i64, in all elements of a shape.
inline Expr index_along(Builder& builder, const Shape& shape, std::size_t axis) {
  const Expr line{builder, builder.emit(Op::iota, {}, ToShape{{shape[axis]}})};
  Shape column(shape.size(), 1);
  column[axis] = shape[axis];
  return expand(reshape(line, column), shape);
}

// An extent as a value of rank 0, i64. A symbol's is counted, there being no other way to read it in a graph.
inline Expr extent_value(Builder& builder, Extent extent) {
  if (extent.is_number()) return splat(builder, DType::i64, {}, extent.number());
  return sum(splat(builder, DType::i64, {extent}, 1), 1);
}

// Row-major places in an array of shape `target` of the elements of `shape`, which has as many axes: each stands where it does, but
// for `axis`, where `index` (i64, of `shape`) says.
Expr places(const Shape& target, const Shape& shape, std::size_t axis, const Expr& index);

inline Expr take(const Expr& x, const Expr& index) { return emit(Op::take, {x, index}); }
inline Expr put(const Expr& x, const Expr& index, const Expr& v, Put::Combine combine) {
  return emit(Op::put, {x, index, v}, Put{combine});
}

}  // namespace formula
}  // namespace braze::ir
