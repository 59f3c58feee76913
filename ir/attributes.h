// What an op carries besides its operands. One struct a kind, one printer/parser pair a struct (ir/print.cpp, ir/parse.cpp).
// Extents may be symbols; axis numbers and permutations are structure, never symbols.
#pragma once

#include <cstdint>
#include <variant>

#include "ir/dtype.h"
#include "ir/extent.h"
#include "ir/op.h"

namespace braze::ir {

struct None {
  friend bool operator==(const None&, const None&) = default;
};

struct Parameter {
  enum class Kind : std::uint8_t {
    buffer,  // dense row-major memory
    donated, // the same, and the Program may overwrite it: no reader is left outside
    scalar   // rank 0, passed by value
  } kind = Kind::buffer;
  std::uint32_t number = 0;  // among the graph's parameters
  DType type{};
  Shape shape;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Literal {
  DType type{};
  std::uint64_t bits = 0;  // of the value in `type`, low bits first
  friend bool operator==(const Literal&, const Literal&) = default;
};

struct Cast {
  DType type{};
  friend bool operator==(const Cast&, const Cast&) = default;
};

struct ToShape {  // iota, reshape, expand: the result's shape
  Shape shape;
  friend bool operator==(const ToShape&, const ToShape&) = default;
};

// Element (i0, i1, ...) lies at offset + i0 * strides[0] + i1 * strides[1] + ... of the dense operand's row-major elements.
struct Layout {
  Extent offset;
  Shape sizes, strides;
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct Permutation {  // result axis i is operand axis order[i]
  InlineVector<std::uint8_t, 8> order;
  friend bool operator==(const Permutation&, const Permutation&) = default;
};

struct Slice {  // one entry an axis; `sizes` is the result's shape
  Shape starts, sizes, steps;
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct Axes {
  std::uint64_t mask = 0;
  friend bool operator==(const Axes&, const Axes&) = default;
};

// Axes that a reduction removes. The order of combination follows from the operand's dense row-major shape and dtype alone
// (ir/reduce_order.h): the recorder hands over the operand in its storage order.
struct Reduced {
  std::uint64_t mask = 0;
  friend bool operator==(const Reduced&, const Reduced&) = default;
};

struct Padding {  // >= 0 each; `sizes` is the result's shape
  Shape low, high, sizes;
  friend bool operator==(const Padding&, const Padding&) = default;
};

struct Concat {
  std::uint32_t axis = 0;
  Extent extent;  // the result's, along `axis`
  friend bool operator==(const Concat&, const Concat&) = default;
};

using Attributes = std::variant<None, Parameter, Literal, Cast, ToShape, Layout, Permutation, Slice, Axes, Reduced, Padding, Concat>;

// Calls f(extent) for each extent that the attributes hold; f may take it by reference and change it.
template <class A, class F>
void for_each_extent(A& attributes, F&& f) {
  const auto each = [&f](auto& shape) {
    for (auto& extent : shape) f(extent);
  };
  if (auto* parameter = std::get_if<Parameter>(&attributes)) each(parameter->shape);
  if (auto* to = std::get_if<ToShape>(&attributes)) each(to->shape);
  if (auto* concat = std::get_if<Concat>(&attributes)) f(concat->extent);
  if (auto* layout = std::get_if<Layout>(&attributes)) f(layout->offset), each(layout->sizes), each(layout->strides);
  if (auto* slice = std::get_if<Slice>(&attributes)) each(slice->starts), each(slice->sizes), each(slice->steps);
  if (auto* padding = std::get_if<Padding>(&attributes)) each(padding->low), each(padding->high), each(padding->sizes);
}

constexpr AttributeKind kind(const Attributes& a) { return static_cast<AttributeKind>(a.index()); }

}  // namespace braze::ir
