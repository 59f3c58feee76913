// The machine primitives: everything a back end must know. An op's meaning (ir/scalar.h, ir/math.h) is written over them,
// so that the interpreter, LLVM and CUDA give the same bits and no back end lists ops.
//
// Operands and result have the instruction's `type` unless the table says otherwise. Semantics, on every target:
//  * integers wrap; `shl`/`shr` with a count outside [0, bits) give 0, or the sign fill for `shr` of a signed value;
//  * `quo`/`rem` truncate; a zero divisor gives 0 (the meaning raises a fault beside it), INT_MIN / -1 wraps, its rem is 0;
//  * floats are IEEE, round to nearest even, subnormals kept, nothing contracted;
//  * comparisons are ordered except `ne`, which is true when either side is NaN;
//  * `boolean` is i1 in registers and a byte 0/1 in memory; bit_and/bit_or/bit_xor/eq/ne/select apply to it;
//  * f16 and bf16 appear only in constant, convert, bitcast (to i16), select, load and store: arithmetic happens in f32.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace braze::ir {

enum class Primitive : std::uint8_t {
#define BRAZE_PRIMITIVE(name, arity, text) name,
#include "ir/primitives.def"
#undef BRAZE_PRIMITIVE
};

struct PrimitiveInfo {
  std::string_view name;
  std::uint8_t arity;
  std::string_view meaning;
};

inline constexpr PrimitiveInfo primitive_table[] = {
#define BRAZE_PRIMITIVE(name, arity, text) {#name, arity, text},
#include "ir/primitives.def"
#undef BRAZE_PRIMITIVE
};

constexpr const PrimitiveInfo& info(Primitive p) { return primitive_table[static_cast<std::size_t>(p)]; }
std::optional<Primitive> primitive_from_name(std::string_view name);

// Library functions that a meaning may call until Braze has its own: a closed list of libm symbols, each in f32 and f64.
enum class LibraryFunction : std::uint8_t {
#define BRAZE_LIBRARY_FUNCTION(name, arity) name,
#include "ir/primitives.def"
#undef BRAZE_LIBRARY_FUNCTION
};

struct LibraryFunctionInfo {
  std::string_view name;      // as in IR text and as the f64 symbol
  std::string_view name_f32;  // the f32 symbol
  std::uint8_t arity;
  double (*f64)(double, double);  // arity 1 ignores the second argument
  float (*f32)(float, float);
};

// The table is filled in ir/library_functions.cpp, from the same .def.
const LibraryFunctionInfo& info(LibraryFunction f);
std::optional<LibraryFunction> library_function_from_name(std::string_view name);

// Why a kernel stopped; the value of the status word. 0 is success. refused: a routine says why in words; not_decomposed:
// likewise, because a matrix is singular or a decomposition does not converge.
enum class Fault : std::uint8_t { none, division_by_zero, index_out_of_range, stopped, refused, not_decomposed };

// One SSA instruction of scalar code. `type` is the result's type, `from` the operands' type where it differs
// (convert, bitcast, comparisons), `payload` the bits of a constant, the LibraryFunction of a call, the Fault of a check.
using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};

struct Instruction {
  Primitive op{};
  DType type{};
  DType from{};
  std::array<ValueId, 3> in{no_value, no_value, no_value};
  std::uint64_t payload = 0;

  bool operator==(const Instruction&) const = default;
};

// Whether `from` says something of its own: comparisons, convert and bitcast. Elsewhere it equals `type`.
constexpr bool has_operand_type(Primitive p) {
  return (p >= Primitive::eq && p <= Primitive::le) || p == Primitive::convert || p == Primitive::bitcast;
}
// Fills in what the op itself says: comparisons and checks yield boolean, `from` where it is the type.
constexpr Instruction canonical(Instruction instruction) {
  if (instruction.op == Primitive::check || (instruction.op >= Primitive::eq && instruction.op <= Primitive::le))
    instruction.type = DType::boolean;
  if (!has_operand_type(instruction.op)) instruction.from = instruction.type;
  return instruction;
}

// What scalar code is appended to: a kernel under construction, or a stand-alone combine body.
class InstructionSink {
 public:
  virtual ~InstructionSink() = default;
  // Appends (or finds an equal earlier instruction in scope) and returns its result.
  virtual ValueId append(const Instruction& instruction) = 0;
};

}  // namespace braze::ir
