// Op: the enumeration and the traits that the table gives each op.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace braze::ir {

enum class Op : std::uint8_t {
#define BRAZE_UNARY(name, accepts, result) name,
#define BRAZE_BINARY(name, accepts, result, algebra) name,
#define BRAZE_TERNARY(name, accepts, result) name,
#define BRAZE_SHAPED(name, attributes, results) name,
#define BRAZE_ROUTINE(name, attributes, results) name,
#include "ir/ops.def"
};

enum class OpClass : std::uint8_t { unary, binary, ternary, shaped, routine };
enum class Accepts : std::uint8_t { any, numeric, real, integral };
enum class ResultType : std::uint8_t { same, boolean };
enum class Algebra : std::uint8_t { ordered, commutative };
// The alternatives of `Attributes` (ir/attributes.h), in its order.
// clang-format off
enum class AttributeKind : std::uint8_t {
  None, Parameter, Literal, Cast, ToShape, Layout, Permutation, Slice, Axes, Reduced, Padding, Dot, Concat, WrapIndex, Put, Scan,
  Sort, Draw, Cholesky, LuFactor, LuSolve, SolveTriangular, Factor, Eigh
};
// clang-format on

// Results that an op may have.
inline constexpr unsigned max_results = 4;

struct OpInfo {
  std::string_view name;
  OpClass op_class;
  Accepts accepts = Accepts::any;        // elementwise only
  ResultType result = ResultType::same;  // elementwise only
  Algebra algebra = Algebra::ordered;    // binary only
  AttributeKind attributes = AttributeKind::None;
  std::uint8_t results = 1;

  constexpr bool commutative() const { return algebra == Algebra::commutative; }
  // Has a meaning in ir/meaning.h; cast and wrap_index, which carry attributes, count too.
  constexpr bool elementwise() const {
    return op_class < OpClass::shaped || attributes == AttributeKind::Cast || attributes == AttributeKind::WrapIndex;
  }
  // Reads axes away.
  constexpr bool reduction() const { return attributes == AttributeKind::Reduced; }
  // Runs by itself, as a call of the runtime.
  constexpr bool routine() const { return op_class == OpClass::routine; }
};

inline constexpr OpInfo op_table[] = {
#define BRAZE_UNARY(name, accepts, result) {#name, OpClass::unary, Accepts::accepts, ResultType::result},
#define BRAZE_BINARY(name, accepts, result, algebra) \
  {#name, OpClass::binary, Accepts::accepts, ResultType::result, Algebra::algebra},
#define BRAZE_TERNARY(name, accepts, result) {#name, OpClass::ternary, Accepts::accepts, ResultType::result},
#define BRAZE_SHAPED(name, attributes, results) \
  {#name, OpClass::shaped, Accepts::any, ResultType::same, Algebra::ordered, AttributeKind::attributes, results},
#define BRAZE_ROUTINE(name, attributes, results) \
  {#name, OpClass::routine, Accepts::any, ResultType::same, Algebra::ordered, AttributeKind::attributes, results},
#include "ir/ops.def"
};

inline constexpr int op_count = sizeof(op_table) / sizeof(op_table[0]);
constexpr const OpInfo& info(Op op) { return op_table[static_cast<std::size_t>(op)]; }
constexpr std::string_view name(Op op) { return info(op).name; }

constexpr std::optional<Op> op_from_name(std::string_view text) {
  for (int i = 0; i < op_count; ++i)
    if (op_table[i].name == text) return static_cast<Op>(i);
  return std::nullopt;
}

// How many operands an op takes; -1: one or more (concat).
constexpr int arity(Op op) {
  switch (info(op).op_class) {
    case OpClass::unary:
      return 1;
    case OpClass::binary:
      return 2;
    case OpClass::ternary:
      return 3;
    case OpClass::shaped:
    case OpClass::routine:
      break;
  }
  switch (op) {
    case Op::parameter:
    case Op::constant:
    case Op::iota:
      return 0;
    case Op::store:
    case Op::accumulate:
    case Op::pad:
    case Op::dot:
    case Op::take:
    case Op::solve_triangular:
      return 2;
    case Op::put:
    case Op::draw:
    case Op::lu_solve:
      return 3;
    case Op::concat:
      return -1;
    default:
      return 1;
  }
}

// Whether an elementwise op takes operands of this dtype.
constexpr bool accepts(Op op, DType t) {
  switch (info(op).accepts) {
    case Accepts::any:
      return true;
    case Accepts::numeric:
      return t != DType::boolean;
    case Accepts::real:
      return is_float(t);
    case Accepts::integral:
      return !is_float(t);
  }
  return false;
}

}  // namespace braze::ir
