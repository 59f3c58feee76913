// A kernel laid out flat, as the loop interpreter executes it: one op a statement or end of a loop, operands as places in a
// file of registers, one word of raw bits a lane. Decoded once a kernel, and used by interpret_loops.cpp alone.
#pragma once

#include <vector>

#include "ir/loops.h"
#include "ir/scalar.h"

namespace braze::ir {
namespace loop_code {

// Where a value's lanes stand in the register file, one word of raw bits a lane. A uniform value has stride 0.
struct Operand {
  std::uint32_t at = 0;
  std::uint32_t stride = 0;
};

struct SizeOperand {
  std::int64_t number = 0;
  std::int64_t at = -1;  // its register, or -1
};

struct AddressTerm {
  Operand index;
  SizeOperand stride;
};

struct Address {
  std::uint32_t buffer = 0;  // as in Access
  DType type{};
  std::uint32_t array_lanes = 1;
  std::vector<AddressTerm> terms;
  SizeOperand offset;
};

struct CarriedValue {
  Operand init, inside, next, result;
};

struct Joiner {  // a decoded Combine
  std::size_t width = 0;
  struct Step {
    Evaluator evaluate;
    Instruction instruction;
  };
  std::vector<Step> steps;
  std::vector<ValueId> results;
};

// One statement, or one end of a loop. The tree is laid out flat; `jump` is where a loop that has no iteration left, or a
// condition that is false, goes on.
struct FlatOp {
  enum class Kind : std::uint8_t {
    compute,
    load,
    store,
    open_loop,
    close_loop,
    open_threads,
    close_threads,
    fold,
    tree_fold,
    branch,
    shuffle
  };
  Kind kind;
  bool has_predicate = false;
  bool leaves_threads = false;  // the end of the outermost thread loop
  LoopKind loop = LoopKind::serial;
  std::uint32_t lanes = 1;  // of the result, of what a store writes, or that a carry moves
  Operand result;
  Operand in[3];  // operands; a store's value; predicate in [2]; a loop's variable is `result`
  Evaluator evaluate = nullptr;
  const Instruction* instruction = nullptr;
  std::uint32_t detail = 0;  // into addresses, loops or folds
  std::uint32_t jump = 0;
  const Statement* statement = nullptr;
};

struct Loop {
  SizeOperand extent;
  std::int32_t step = 1;
  std::uint32_t open = 0;           // its first op
  std::uint32_t inner_threads = 1;  // of a thread loop: how many threads the loops inside it make
  std::vector<CarriedValue> carries;
};

struct FoldOp {
  std::uint32_t combine = 0;
  std::vector<Operand> results, lanes;
  std::vector<std::uint32_t> arrays;
  SizeOperand count;
};

}  // namespace loop_code

struct LoopInterpreter::Code {
  Kernel kernel;  // what ops point into
  std::vector<loop_code::FlatOp> ops;
  std::vector<loop_code::Address> addresses;
  std::vector<loop_code::Loop> loops;
  std::vector<loop_code::FoldOp> folds;
  std::vector<loop_code::Joiner> joiners;
  std::vector<loop_code::Operand> values;
  std::uint32_t registers = 0;
};

}  // namespace braze::ir
