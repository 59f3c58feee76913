// Splits a pending node's attributes into structure, which belongs in the key, and numbers, which are arguments. One function
// serves both the walk and the graph builder, so that the n-th number of one is the n-th symbol of the other.
//
// A Visitor has
//   void structure(std::uint64_t)              a fact that distinguishes programs
//   Extent number(std::int64_t)                an argument; returns what stands for it in the graph
//   void is_one(std::size_t axis, operand = 0) an operand has one element there: structure
//   Extent same_as(std::size_t axis, int64_t)  the first operand's extent, which the result repeats: structure
// and `describe` returns the attributes with its extents. Extents that make a kernel what it is (stride 0 and 1, the axes that an
// expand repeats, axes of one element that a reshape drops) are structure.
#pragma once

#include <cstdint>
#include <variant>

#include "frontend/engine/node.h"
#include "ir/attributes.h"
#include "ir/loops.h"

namespace braze::engine {

enum class StrideClass : std::uint8_t { zero, one, other };

template <class Visitor>
ir::Extent describe_stride(std::int64_t stride, Visitor& visitor) {
  const StrideClass c = stride == 0 ? StrideClass::zero : stride == 1 ? StrideClass::one : StrideClass::other;
  visitor.structure(static_cast<std::uint64_t>(c));
  return c == StrideClass::other ? visitor.number(stride) : ir::Extent(stride);
}

// 1 stays 1; everything else is a number.
template <class Visitor>
ir::Extent describe_unit(std::int64_t extent, Visitor& visitor) {
  visitor.structure(extent == 1);
  return extent == 1 ? ir::Extent(1) : visitor.number(extent);
}

template <class Visitor>
ir::Attributes describe_layout(const ir::Layout& layout, Visitor& visitor) {
  ir::Layout out;
  visitor.structure(layout.sizes.size());
  out.offset = visitor.number(layout.offset.number());
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    out.sizes.push_back(visitor.number(layout.sizes[i].number()));
    out.strides.push_back(describe_stride(layout.strides[i].number(), visitor));
  }
  return out;
}

template <class Visitor>
ir::Attributes describe_slice(const ir::Slice& slice, const ir::Type& operand, Visitor& visitor) {
  ir::Slice out;
  for (std::size_t i = 0; i < slice.sizes.size(); ++i) {
    const bool whole = slice.starts[i] == 0 && slice.steps[i] == 1 && slice.sizes[i] == operand.shape[i];
    const std::int64_t step = slice.steps[i].number();
    visitor.structure(whole ? 0 : step == 1 ? 1 : step == -1 ? 2 : 3);
    out.starts.push_back(whole ? ir::Extent(0) : visitor.number(slice.starts[i].number()));
    out.sizes.push_back(whole ? visitor.same_as(i, slice.sizes[i].number()) : visitor.number(slice.sizes[i].number()));
    out.steps.push_back(step == 1 || step == -1 ? ir::Extent(step) : visitor.number(step));
  }
  return out;
}

template <class Visitor>
ir::Attributes describe_padding(const ir::Padding& padding, Visitor& visitor) {
  const auto amount = [&](ir::Extent e) {
    visitor.structure(e == 0);
    return e == 0 ? ir::Extent(0) : visitor.number(e.number());
  };
  ir::Padding out;
  for (std::size_t i = 0; i < padding.sizes.size(); ++i) {
    out.low.push_back(amount(padding.low[i]));
    out.high.push_back(amount(padding.high[i]));
    out.sizes.push_back(visitor.number(padding.sizes[i].number()));
  }
  return out;
}

// Result axes of an expand that repeat (the operand has one element there, or no such axis) are structure.
template <class Visitor>
ir::Attributes describe_expand(const ir::Type& operand, const ir::Type& result, Visitor& visitor) {
  ir::ToShape out;
  const std::size_t added = result.shape.size() - operand.shape.size();
  visitor.structure(result.shape.size());
  for (std::size_t i = 0; i < result.shape.size(); ++i) {
    const bool repeats = i < added || (operand.shape[i - added] == 1 && !(result.shape[i] == 1));
    visitor.structure(repeats);
    if (repeats && i >= added) visitor.is_one(i - added);
    out.shape.push_back(visitor.number(result.shape[i].number()));
  }
  return out;
}

// Axes of one element are structure on both sides, and so is which operand axes reappear as they are: a reshape that adds,
// drops or keeps axes then needs no division in the kernel.
template <class Visitor>
ir::Attributes describe_reshape(const ir::Type& operand, const ir::Type& result, Visitor& visitor) {
  ir::ToShape out;
  visitor.structure(result.shape.size());
  std::size_t i = 0;
  std::int64_t before = 1, after = 1;  // products since the two last stood level
  const auto skip_ones = [&] {
    for (; i < operand.shape.size() && operand.shape[i] == 1; ++i) visitor.is_one(i);
  };
  for (const ir::Extent& extent : result.shape) {
    skip_ones();
    if (extent == 1) {
      visitor.structure(1);
      out.shape.push_back(1);
      continue;
    }
    if (before == after && i < operand.shape.size() && operand.shape[i] == extent) {
      visitor.structure(2);
      out.shape.push_back(visitor.same_as(i++, extent.number()));
      continue;
    }
    visitor.structure(3);
    out.shape.push_back(visitor.number(extent.number()));
    after *= extent.number();
    while (before < after && i < operand.shape.size()) before *= operand.shape[i++].number();
  }
  skip_ones();
  return out;
}

// Attributes that are structure throughout.
template <class Visitor, class A, class... Facts>
ir::Attributes structural(const A& attributes, Visitor& visitor, Facts... facts) {
  (visitor.structure(facts), ...);
  return attributes;
}

template <class Visitor>
ir::Attributes describe(const Node& node, Visitor& visitor) {
  const ir::Type& result = *node.types[0];
  if (!node.attributes) {
    switch (ir::info(node.op).attributes) {
      case ir::AttributeKind::ToShape:
        if (node.op == ir::Op::expand) return describe_expand(node.in()[0].type(), result, visitor);
        if (node.op == ir::Op::reshape) return describe_reshape(node.in()[0].type(), result, visitor);
        return ir::ToShape{{visitor.number(result.shape[0].number())}};  // iota
      default:
        return ir::None{};
    }
  }
  return std::visit(
      ir::match{
          [&](const ir::Cast& a) -> ir::Attributes {
            visitor.structure(static_cast<std::uint64_t>(a.type));
            return a;
          },
          [&](const ir::Layout& a) -> ir::Attributes { return describe_layout(a, visitor); },
          [&](const ir::Permutation& a) -> ir::Attributes {
            for (const std::uint8_t axis : a.order) visitor.structure(axis);
            return a;
          },
          [&](const ir::Slice& a) -> ir::Attributes { return describe_slice(a, node.in()[0].type(), visitor); },
          [&](const ir::Axes& a) -> ir::Attributes {
            visitor.structure(a.mask);
            return a;
          },
          [&](const ir::Reduced& a) -> ir::Attributes {
            visitor.structure(a.mask);
            return a;
          },
          [&](const ir::Padding& a) -> ir::Attributes { return describe_padding(a, visitor); },
          [&](const ir::Dot& a) -> ir::Attributes {
            visitor.structure(static_cast<std::uint64_t>(a.order));
            if (a.order == ir::Dot::Order::blocked) return a;
            const bool one_row = result.shape[result.shape.size() - 2] == 1, one_column = result.shape.back() == 1;
            visitor.structure(one_row + 2 * one_column);
            if (one_row) visitor.is_one(result.shape.size() - 2);
            if (one_column) visitor.is_one(result.shape.size() - 1, 1);
            return a;
          },
          [&](const ir::Concat& a) -> ir::Attributes {
            visitor.structure(a.axis);
            return ir::Concat{a.axis, visitor.number(a.extent.number())};
          },
          [&](const ir::WrapIndex& a) -> ir::Attributes { return ir::WrapIndex{visitor.number(a.extent.number())}; },
          [&](const ir::Draw& a) -> ir::Attributes {
            visitor.structure(static_cast<std::uint64_t>(a.kind));
            visitor.structure(static_cast<std::uint64_t>(a.type));
            visitor.structure(a.shape.size());
            ir::Draw out{a.kind, a.type, {}};
            for (const ir::Extent& e : a.shape) out.shape.push_back(visitor.number(e.number()));
            return out;
          },
          [&](const ir::LuFactor& a) -> ir::Attributes {
            visitor.structure(static_cast<std::uint64_t>(a.check));
            return ir::LuFactor{visitor.number(a.rank.number()), a.check};
          },
          [&](const ir::Factor& a) -> ir::Attributes {
            visitor.structure(a.full);
            return ir::Factor{visitor.number(a.rank.number()), a.full};
          },
          [&](const ir::Put& a) -> ir::Attributes { return structural(a, visitor, static_cast<std::uint64_t>(a.combine)); },
          [&](const ir::Scan& a) -> ir::Attributes { return structural(a, visitor, a.axis); },
          [&](const ir::Sort& a) -> ir::Attributes { return structural(a, visitor, a.axis, a.descending); },
          [&](const ir::Cholesky& a) -> ir::Attributes { return structural(a, visitor, static_cast<std::uint64_t>(a.check)); },
          [&](const ir::LuSolve& a) -> ir::Attributes { return structural(a, visitor, a.transposed); },
          [&](const ir::SolveTriangular& a) -> ir::Attributes { return structural(a, visitor, a.upper, a.left, a.unit); },
          [&](const ir::Eigh& a) -> ir::Attributes { return structural(a, visitor, a.upper); },
          // These follow from the types, or are no operation's.
          [](const ir::None& a) -> ir::Attributes { return a; },
          [](const ir::ToShape& a) -> ir::Attributes { return a; },
          [](const ir::Parameter& a) -> ir::Attributes { return a; },
          [](const ir::Literal& a) -> ir::Attributes { return a; },
      },
      *node.attributes);
}

}  // namespace braze::engine
