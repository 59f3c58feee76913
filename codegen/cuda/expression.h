// One instruction as a C++ expression.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "codegen/cuda/analysis.h"
#include "codegen/cuda/prelude.h"
#include "ir/primitive.h"

namespace braze::codegen::cuda {

// How tightly the outermost operator of an expression binds, as C++ ranks them.
enum class Binding : std::uint8_t {
  primary,
  unary,
  product,
  sum,
  shift,
  order,
  equality,
  bit_and,
  bit_xor,
  bit_or,
  logical_and,
  logical_or,
  conditional
};

struct Expression {
  std::string text;
  Binding binding = Binding::primary;
  bool literal = false;  // an integer literal, whose C++ type may be narrower than the value's

  // The text, in parentheses where an operator that binds like `outer` would tear it apart.
  std::string in(Binding outer) const { return binding > outer ? "(" + text + ")" : text; }
};

// The value of type `type` whose bits are `bits`.
Expression literal(DType type, std::uint64_t bits, Prelude& prelude);

// `in` and `ranges` are the operands'. A `check` is its operand: raising the fault is a statement.
Expression express(const ir::Instruction& instruction, const std::array<Expression, 3>& in, const std::array<Range, 3>& ranges,
                   Prelude& prelude);

}  // namespace braze::codegen::cuda
