#include "passes/batching.h"

#include <algorithm>
#include <optional>

#include "ir/error.h"

namespace braze::passes {

using namespace ir::formula;
using ir::Expr;
using ir::Expression;
using ir::Extent;
using ir::Graph;
using ir::Layout;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Type;

namespace {

Shape led(Extent first, const Shape& rest) {
  Shape shape{first};
  for (Extent e : rest) shape.push_back(e);
  return shape;
}

// ---- attributes of an op whose operands all have the new axis in front. An attribute kind without a line does not compile.

using ir::None;

None moved(const None& a, Extent) { return a; }
ir::Cast moved(const ir::Cast& a, Extent) { return a; }
ir::Dot moved(const ir::Dot& a, Extent) { return a; }
ir::WrapIndex moved(const ir::WrapIndex& a, Extent) { return a; }
ir::Put moved(const ir::Put& a, Extent) { return a; }
ir::Cholesky moved(const ir::Cholesky& a, Extent) { return a; }
ir::LuFactor moved(const ir::LuFactor& a, Extent) { return a; }
ir::LuSolve moved(const ir::LuSolve& a, Extent) { return a; }
ir::SolveTriangular moved(const ir::SolveTriangular& a, Extent) { return a; }
ir::Factor moved(const ir::Factor& a, Extent) { return a; }
ir::Eigh moved(const ir::Eigh& a, Extent) { return a; }
ir::ToShape moved(const ir::ToShape& a, Extent size) { return {led(size, a.shape)}; }
ir::Permutation moved(const ir::Permutation& a, Extent) {
  ir::Permutation out;
  out.order.push_back(0);
  for (std::uint8_t axis : a.order) out.order.push_back(static_cast<std::uint8_t>(axis + 1));
  return out;
}
ir::Slice moved(const ir::Slice& a, Extent size) { return {led(0, a.starts), led(size, a.sizes), led(1, a.steps)}; }
ir::Axes moved(const ir::Axes& a, Extent) { return {a.mask << 1}; }
ir::Reduced moved(const ir::Reduced& a, Extent) { return {a.mask << 1}; }
ir::Padding moved(const ir::Padding& a, Extent size) { return {led(0, a.low), led(0, a.high), led(size, a.sizes)}; }
ir::Concat moved(const ir::Concat& a, Extent) { return {a.axis + 1, a.extent}; }
ir::Scan moved(const ir::Scan& a, Extent) { return {a.axis + 1}; }
ir::Sort moved(const ir::Sort& a, Extent) { return {a.axis + 1, a.descending}; }
// These have rules of their own, or no operands.
Layout moved(const Layout& a, Extent) { return a; }
ir::Draw moved(const ir::Draw& a, Extent) { return a; }
ir::Parameter moved(const ir::Parameter& a, Extent) { return a; }
ir::Literal moved(const ir::Literal& a, Extent) { return a; }

// ---- operands

const Shape& element(const Mapping& m, std::size_t k) { return m.types[k]->shape; }
Expr as_it_is(const Mapping& m, std::size_t k) { return {m.builder, m.in[k].value}; }
// With the axis.
Expr operand(const Mapping& m, std::size_t k) {
  return m.in[k].batched ? as_it_is(m, k) : expand(as_it_is(m, k), led(m.size, element(m, k)));
}

Expression plain(const Mapping& m) {
  std::vector<Expression> in;
  for (std::size_t k = 0; k < m.in.size(); ++k) in.push_back(operand(m, k).id());
  return m.builder.emit(m.op, in, std::visit([&](const auto& a) -> ir::Attributes { return moved(a, m.size); }, m.attributes));
}

// An expand aligns at the last axis, and now the first one must stay in front.
Expression batch_expand(const Mapping& m) {
  const Shape& to = std::get<ir::ToShape>(m.attributes).shape;
  Shape between = led(m.size, Shape(to.size() - element(m, 0).size(), 1));
  for (Extent e : element(m, 0)) between.push_back(e);
  return expand(reshape(as_it_is(m, 0), between), led(m.size, to)).id();
}

// What a padding holds is one value for the whole op: where each element has its own, it is chosen afterwards.
Expression batch_pad(const Mapping& m) {
  if (!m.in[1].batched) {
    const Expression in[] = {m.in[0].value, m.in[1].value};
    return m.builder.emit(Op::pad, in, moved(std::get<ir::Padding>(m.attributes), m.size));
  }
  const ir::Padding padding = moved(std::get<ir::Padding>(m.attributes), m.size);
  const Expr x = operand(m, 0), value = as_it_is(m, 1);
  const Expr inside = pad(splat(m.builder, DType::boolean, x.shape(), 1), padding);
  const Shape column = led(m.size, Shape(element(m, 0).size(), 1));
  return where(inside, pad(x, padding), expand(reshape(value, column), padding.sizes)).id();
}

// The batch and an axis as one, where that is an extent.
std::optional<Extent> merged(Extent size, Extent axis) {
  if (axis == Extent(1)) return size;
  if (size.is_symbol() || axis.is_symbol()) return std::nullopt;
  return size.number() * axis.number();
}

// Matrices with one factor for all elements are one product of more rows.
Expression batch_dot(const Mapping& m) {
  const bool first = m.in[0].batched, second = m.in[1].batched;
  const Shape &a = element(m, 0), &b = element(m, 1);
  if ((first && second) || a.size() != 2) return plain(m);
  const Extent rows = first ? a[0] : b[1];
  const std::optional<Extent> all = merged(m.size, rows);
  if (!all) return plain(m);
  if (first) return reshape(dot(reshape(as_it_is(m, 0), {*all, a[1]}), as_it_is(m, 1)), {m.size, rows, b[1]}).id();
  const Expr columns = reshape(transpose(as_it_is(m, 1)), {*all, b[0]});
  return transpose(reshape(dot(columns, transpose(as_it_is(m, 0))), {m.size, rows, a[0]})).id();
}

// ---- places in a storage: element b's come `elements` after those of the one before

Expr elements_of(const Mapping& m, const Shape& shape) {
  Expr product = splat(m.builder, DType::i64, {}, 1);
  std::int64_t known = 1;
  for (Extent e : shape) {
    if (e.is_number())
      known *= e.number();
    else
      product = product * extent_value(m.builder, e);
  }
  return product * splat(m.builder, DType::i64, {}, known);
}

// Indices [size, ...] into one element's storage, as indices into all of it. One that is outside stays outside.
Expr in_batch(const Mapping& m, const Expr& index) {
  const Expr count = elements_of(m, element(m, 0));
  const Expr one = expand(count, index.shape());
  const Expr beyond = expand(count * extent_value(m.builder, m.size), index.shape());
  return where(index >= 0 && index < one, index + index_along(m.builder, index.shape(), 0) * one, beyond);
}

Expression batch_take(const Mapping& m) {
  if (!m.in[0].batched) return take(as_it_is(m, 0), as_it_is(m, 1)).id();
  return take(as_it_is(m, 0), in_batch(m, operand(m, 1))).id();
}

Expression batch_put(const Mapping& m) {
  return put(operand(m, 0), in_batch(m, operand(m, 1)), operand(m, 2), std::get<ir::Put>(m.attributes).combine).id();
}

// The places that a layout addresses in one element's storage, for all elements.
Expr places_of(const Mapping& m, const Layout& layout) {
  const Shape shape = led(m.size, layout.sizes);
  Expr index = expand(extent_value(m.builder, layout.offset), shape);
  for (std::size_t i = 0; i < layout.sizes.size(); ++i)
    index = index + index_along(m.builder, shape, i + 1) * expand(extent_value(m.builder, layout.strides[i]), shape);
  return in_batch(m, index);
}

// view, store and accumulate: the axis is one more stride, which is a number only where the storage's extents are.
Expression batch_layout(const Mapping& m) {
  const auto& layout = std::get<Layout>(m.attributes);
  if (all_numbers(element(m, 0))) {
    std::int64_t stride = 1;
    for (Extent e : element(m, 0)) stride *= e.number();
    std::vector<Expression> in;
    for (std::size_t k = 0; k < m.in.size(); ++k) in.push_back(operand(m, k).id());
    return m.builder.emit(m.op, in,
                          Layout{layout.offset, led(m.size, layout.sizes), led(std::max<std::int64_t>(stride, 1), layout.strides)});
  }
  const Expr places = places_of(m, layout), storage = operand(m, 0);
  if (m.op == Op::view) return take(storage, places).id();
  const auto combine = m.op == Op::store ? ir::Put::Combine::assign : ir::Put::Combine::add;
  return put(storage, places, operand(m, 1), combine).id();
}

}  // namespace

Expression batch(const Mapping& m) {
  switch (m.op) {
    case Op::expand:
      return batch_expand(m);
    case Op::pad:
      return batch_pad(m);
    case Op::dot:
      return batch_dot(m);
    case Op::take:
      return batch_take(m);
    case Op::put:
      return batch_put(m);
    case Op::view:
    case Op::store:
    case Op::accumulate:
      return batch_layout(m);
    case Op::draw:
      fail<NotImplementedError>(
          "vmap: a random draw depends on what is mapped over; draw outside of the function and pass the numbers in, mapped or "
          "not");
    default:
      return plain(m);
  }
}

namespace {

class Batcher {
 public:
  Batcher(const Graph& graph, const std::vector<bool>& mapped) : graph_(graph), builder_(out_), values_(graph.size()) {
    out_.name = graph.name + "_vmap";
    out_.symbols = graph.symbols;
    size_ = out_.new_symbol("batch");
    for (std::uint32_t p = 0; p < graph.parameters().size(); ++p) parameter(graph.parameters()[p], p, mapped[p]);
  }

  Graph run() {
    for (NodeId id : postorder(graph_, graph_.results))
      if (graph_[id].op != Op::parameter) values_[id] = apply(graph_[id]);
    builder_.location = {};
    for (ir::Value v : graph_.results) {
      const Expr e{builder_, at(v)};
      out_.results.push_back((values_[v.node].batched ? e : expand(e, led(size_, graph_.type(v).shape))).id());
    }
    return std::move(out_);
  }

 private:
  Expression at(ir::Value v) const { return {values_[v.node].value.node, v.result}; }

  void parameter(ir::Value v, std::uint32_t number, bool mapped) {
    Type type = graph_.type(v);
    auto kind = graph_.node(v).as<ir::Parameter>().kind;
    if (mapped) {
      type.shape = led(size_, type.shape);
      kind = ir::Parameter::Kind::buffer;
    }
    values_[v.node] = {out_.parameter(type, kind, graph_.parameter_name(number)), mapped};
  }

  Mapped apply(const Node& node) {
    builder_.location = node.location;
    std::vector<Mapped> in;
    std::vector<const Type*> types;
    std::vector<Expression> plain;
    bool any = false;
    for (ir::Value v : node.in) {
      in.push_back({at(v), values_[v.node].batched});
      types.push_back(&graph_.type(v));
      plain.push_back(at(v));
      any |= in.back().batched;
    }
    if (!any) return {builder_.emit(node.op, plain, *node.attributes), false};
    return {batch({builder_, node.op, *node.attributes, types, in, size_}), true};
  }

  const Graph& graph_;
  Graph out_;
  ir::GraphBuilder builder_;
  Extent size_;
  std::vector<Mapped> values_;  // by node: its result 0
};

}  // namespace

Graph vmap(const Graph& graph, const BatchingOptions& options) {
  std::vector<bool> mapped(graph.parameters().size(), options.parameters.empty());
  for (std::uint32_t number : options.parameters) {
    require<ValueError>(number < mapped.size(), "{} has no parameter {}; there are {}, from 0", graph.name, number, mapped.size());
    mapped[number] = true;
  }
  require<ValueError>(!mapped.empty(), "{} has no parameter to map over", graph.name);
  return Batcher(graph, mapped).run();
}

}  // namespace braze::passes
