// A Nest is one group after lowering and before scheduling: what the kernel computes, with no word about how.
//
// It has a domain of axes, outermost first, each kept or reduced, and expressions that are evaluated at points of the domain.
// Views are gone: an operand behind permute, slice, flip, expand, reshape, pad or concat is an expression evaluated elsewhere, so
// that its loads have another address. An address is affine in the domain's axes, or in quotients and remainders of such
// (`Derived`), where a reshape does not fit the axes.
//
// Laws
//  * Expressions come operands first. Equal expressions (same value, same place, same guard) are one.
//  * `Reduced` reads a reduction's result: it, and what depends on it and on no load at a reduced axis, is a value of the row
//    (of a point of the kept axes). An expression that depends on a reduced axis is a value of the element.
//  * A reduction's stage is 1 + the greatest stage among reductions that its operand depends on; stages run one after the other
//    over the same row. All reductions of a nest remove the same axes in the same order.
//  * Adjacent axes of one role are collapsed where every affine allows it; axes of extent number 1 are gone. Zero axes are one point.
//  * A guard is a conjunction of `0 <= index < extent`; a guarded load or check happens only where its guard holds.
//  * Beside a dot, reductions are of one of its factors, over k, and each lies along m or n: so do outputs made of it.
//  * A kept axis is never fixed by an order; a reduced one has the canonical order of ir/reduce_order.h, by `order`.
//  * What an expression holds is a value of its `type`: halves are rounded after every op.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/index.h"
#include "passes/passes.h"

namespace braze::passes {

// Numbers Nest::axes, or, from derived_base on, Nest::derived.
using Variable = std::uint32_t;
inline constexpr Variable derived_base = 1u << 16;
inline constexpr Variable no_axis = ~Variable{0};

// offset + the sum of coefficient * variable; terms sorted by variable, none with coefficient number 0.
struct Affine {
  struct Term {
    Variable variable;
    ir::IndexId coefficient;
    friend bool operator==(const Term&, const Term&) = default;
  };
  InlineVector<Term, 4> terms;
  ir::IndexId offset = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};
using AffineId = std::uint32_t;  // numbers Nest::affines

struct NestAxis {
  ir::IndexId extent;
  bool reduced = false;
  friend bool operator==(const NestAxis&, const NestAxis&) = default;
};

// of / divisor rounded down, or what remains; of >= 0.
struct Derived {
  AffineId of;
  ir::IndexId divisor;
  bool remainder;
  friend bool operator==(const Derived&, const Derived&) = default;
};

struct Condition {  // 0 <= index < extent
  AffineId index;
  ir::IndexId extent;
  friend bool operator==(const Condition&, const Condition&) = default;
};
using GuardId = std::uint32_t;  // numbers Nest::guards; 0 is the empty one: always

using ExprId = std::uint32_t;  // numbers Nest::exprs
inline constexpr ExprId no_expr = ~ExprId{0};

struct Expr {
  enum class Kind : std::uint8_t {
    load,      // buffers[number] at affine
    constant,  // bits
    scalar,    // the graph's parameter number `number`, passed by value
    index,     // the affine itself, i64
    guard,     // whether `guard` holds, boolean
    op,        // an elementwise op on `in` (cast: from in[0]'s type to `type`)
    wrap,      // in[0], an index, from the end where negative; faults outside [-n, n), n being `affine`, a constant
    take,      // buffers[number] at in[0], which faults outside [0, n), n being `affine`, a constant: the buffer's elements
    reduced    // result `result` of reductions[number]
  } kind;
  DType type;
  ir::Op op = ir::Op::parameter;
  std::uint8_t result = 0;
  std::uint32_t number = 0;
  AffineId affine = 0;
  GuardId guard = 0;  // of a load, or of what may fault
  std::uint64_t bits = 0;
  InlineVector<ExprId, 3> in{};
  friend bool operator==(const Expr&, const Expr&) = default;
};

constexpr bool has_affine(const Expr& expr) {
  return expr.kind == Expr::Kind::load || expr.kind == Expr::Kind::index || expr.kind == Expr::Kind::wrap ||
         expr.kind == Expr::Kind::take;
}

// inner: the reduced axes are the operand's last. outer: kept axes follow them. By position alone, whatever the extents are.
enum class ReduceOrder : std::uint8_t { inner, outer };

struct Reduction {
  ir::Op op;
  ExprId operand;
  AffineId position;  // of the element among the reduced ones, row-major: what argmax counts
  std::uint32_t stage = 1;
  ir::Value value;  // the graph's node
  // Beside a dot: the axis that is left, and the order in which k is reduced.
  Variable along = no_axis;
  ReduceOrder order = ReduceOrder::inner;
};

struct Output {
  ExprId expr;
  std::uint32_t buffer;
  AffineId address;
  bool row = false;          // stored once a row, not once an element
  Variable along = no_axis;  // beside a dot: of the reductions along this axis, stored once for each place of it
  bool accumulate = false;   // combined with what is there, in index order, serially: places may repeat
  ir::Put::Combine combine = ir::Put::Combine::add;
  ExprId index = no_expr;  // put: the place, in lieu of `address`, which is the constant past the last one
  ir::Value into;          // a write: the storage's value before; else none
};

// dot: the domain is [batch..., m, n | k], one axis each, none collapsed; `left` and `right` are the factors at (batch, m, k) and
// (batch, k, n).
struct Contraction {
  ExprId left, right;
  ir::Value value;
  bool right_transposed = false;  // in the graph: its k was its last axis
};

struct Nest {
  std::string name;
  std::uint32_t group = 0;  // its number in Module::nests: a group is a nest, but for a concat, which is one for each part
  ir::Location location;
  std::vector<NestAxis> axes;
  ReduceOrder order = ReduceOrder::inner;
  std::vector<Affine> affines;
  std::vector<Derived> derived;
  std::vector<std::vector<Condition>> guards{{}};
  std::vector<Expr> exprs;
  std::vector<Reduction> reductions;
  std::vector<Contraction> contractions;  // at most one; its result is an Expr::reduced with number contraction_number
  std::vector<Output> outputs;
  std::vector<ir::Value> buffers;     // graph values; outputs' too
  std::optional<ir::NodeId> routine;  // a call of the runtime's: no axes, no expressions; `buffers` are operands, then results
};
inline constexpr std::uint32_t contraction_number = ~std::uint32_t{0};

// Whether an op writes over its first operand: store, accumulate, put.
bool is_write(ir::Op op);
// The operand whose elements a write's points are: its value, or put's index.
ir::Value write_point(const ir::Node& node);
// The value that a write stores.
ir::Value written_value(const ir::Node& node);
// Whether operand i is read whole, wherever its elements lie: it is in memory before the node's kernel runs.
bool reads_whole(const ir::Node& node, std::size_t i);
// A number or a scalar argument: a kernel or a call has it by value.
bool is_immediate(const ir::Node& node);

// The value in memory that `value` is: reshapes of it share its elements in the same order.
ir::Value stored_value(const ir::Graph& graph, ir::Value value);

// Readable text, for golden files and dumps; sizes by the symbols' names.
std::string print(const Nest& nest, const ir::Graph& graph, const ir::IndexTable& index);

Module schedule_cpu(Module module, const Options& options);
Module schedule_gpu(Module module, const Options& options);

}  // namespace braze::passes
