// Selection of LLVM instructions for the machine primitives, on scalars and on vectors of any power-of-two lane count. The
// bits are those of ir/scalar.h on every target: no flag that lets LLVM reorder, contract or assume, and no instruction
// that LLVM would turn into a library call of its own choosing.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <span>

#include "codegen/cpu/ranges.h"
#include "ir/primitive.h"
#include "ir/target.h"

namespace braze::codegen::cpu {

// The features that change which instructions are emitted.
struct Features {
  bool sse41 = false, avx = false, avx2 = false, f16c = false, fma = false, avx512 = false;
  unsigned vector_bytes = 16;
  explicit Features(const ir::CpuTarget& target);
};

// Number of lanes of a value; 1 for a scalar.
unsigned lanes_of(const llvm::Value* value);

class Instructions {
 public:
  Instructions(llvm::IRBuilder<>& builder, const Features& features) : b(builder), features_(features) {}

  // Booleans are i1, f16 and bf16 i16, in registers; lanes 1 is the scalar type.
  llvm::Type* type(DType t, unsigned lanes);
  llvm::Constant* constant(DType t, std::uint64_t bits, unsigned lanes = 1);
  llvm::Value* splat(llvm::Value* scalar, unsigned lanes);

  // The operands have the same number of lanes each, which the result has too. `check` passes its operand through.
  // `last` is what the last operand is known to lie between.
  llvm::Value* emit(const ir::Instruction& instruction, std::span<llvm::Value* const> in, Range last = {});

  // Splits, and joins again, vectors into pieces of `lanes`.
  llvm::Value* slice(llvm::Value* vector, unsigned first, unsigned lanes);
  llvm::Value* join(std::span<llvm::Value* const> pieces);
  llvm::Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types, llvm::ArrayRef<llvm::Value*> arguments);
  // A stack slot of the function, allocated once and 64-byte aligned.
  llvm::AllocaInst* slot(llvm::Type* type, const char* name);
  // Emits `body` for the lanes 0..count-1, as a loop; `count` is an i64.
  void for_each_lane(llvm::Value* count, llvm::function_ref<void(llvm::Value* lane)> body);

 private:
  llvm::Value* arithmetic(const ir::Instruction& i, std::span<llvm::Value* const> in);
  llvm::Value* rounding(ir::Primitive op, llvm::Value* x);
  llvm::Value* round_without_sse41(ir::Primitive op, llvm::Value* x);
  llvm::Value* ldexp(llvm::Value* x, llvm::Value* power, Range range);
  llvm::Value* scalef(llvm::Value* x, llvm::Value* power, Range range);
  llvm::Value* fma_in_f64(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* divide(const ir::Instruction& i, llvm::Value* a, llvm::Value* b);
  llvm::Value* exact_quotient(DType t, llvm::Value* a, llvm::Value* b);
  llvm::Value* wide_quotient(llvm::Value* a, llvm::Value* b);
  llvm::Value* shift(const ir::Instruction& i, llvm::Value* a, llvm::Value* count);
  llvm::Value* compare(const ir::Instruction& i, llvm::Value* a, llvm::Value* b);
  llvm::Value* call_each(const char* symbol, std::span<llvm::Value* const> in);

  // convert.cpp
  llvm::Value* convert(DType to, DType from, llvm::Value* x);
  llvm::Value* float_to_int(DType to, DType from, llvm::Value* x);
  llvm::Value* truncate_to(unsigned bits, llvm::Value* x);
  llvm::Value* int_to_float(DType to, DType from, llvm::Value* x);
  llvm::Value* half_to_float(llvm::Value* x);
  llvm::Value* float_to_half(llvm::Value* x);
  llvm::Value* bfloat_to_float(llvm::Value* x);
  llvm::Value* float_to_bfloat(llvm::Value* x);

  // Applies `piece` to slices of `native` lanes, padding a shorter vector with zeros.
  llvm::Value* in_pieces(llvm::Value* x, unsigned native, llvm::function_ref<llvm::Value*(llvm::Value*)> piece);
  llvm::Constant* like(const llvm::Value* x, double value);            // a float constant of x's type
  llvm::Constant* like_int(const llvm::Value* x, std::int64_t value);  // an integer constant of x's type
  llvm::Type* int_type_like(const llvm::Value* x);                     // the integer type of x's shape and width

  llvm::IRBuilder<>& b;
  const Features& features_;
};

}  // namespace braze::codegen::cpu
