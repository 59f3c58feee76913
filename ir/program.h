// Program: what the passes make of a graph and the runtime runs. Steps over numbered slots; every size is an expression over
// symbols, so one Program serves all extents.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/attributes.h"
#include "ir/index.h"
#include "ir/loops.h"

namespace braze::ir {

// Where a slot's memory comes from. Elements are dense, row-major, 64-byte aligned when the runtime allocates them.
struct Slot {
  enum class Kind : std::uint8_t {
    input,     // the caller's buffer number `input`; read only
    in_out,    // the caller's buffer number `input`, whose contents the Program may overwrite
    result,    // fresh memory that leaves with the caller
    temporary  // dies with the run: a piece of the run's arena at `arena_offset`
  } kind = Kind::temporary;
  DType type{};
  IndexId elements = 0;
  std::uint32_t input = 0;
  IndexId arena_offset = 0;  // bytes, a multiple of 64
};

struct KernelPhase {
  IndexId extent, work;
};
struct KernelStep {
  std::uint32_t kernel;                // numbers Program::kernels
  std::vector<std::uint32_t> buffers;  // slots, in the order of Kernel::buffers
  std::vector<IndexId> sizes;          // in the order of Kernel::sizes
  std::vector<std::uint32_t> scalars;  // the caller's scalar arguments, in the order of Kernel::scalars
  IndexId extent = 0;                  // of the parallel loop, which is skipped when 0
  IndexId work = 0;                    // elements touched in all, for choosing the number of ranges
  std::vector<KernelPhase> then{};     // the same of the phases after the first
};
struct CopyStep {  // whole slots of equal size
  std::uint32_t from, to;
};
// A routine of the runtime's, over whole arrays.
struct CallStep {
  struct Array {
    enum class Kind : std::uint8_t {
      slot,
      scalar,    // the caller's scalar argument `number`, rank 0
      constant,  // `bits`, rank 0
      unread     // a result that nobody wants: the routine may leave it out
    } kind = Kind::slot;
    DType type{};
    std::uint32_t number = 0;
    std::uint64_t bits = 0;
    std::vector<IndexId> sizes;
  };
  Op op;
  Attributes attributes;  // extents may be the Program's symbols
  std::vector<Array> in, out;
};
struct Step {
  std::variant<KernelStep, CopyStep, CallStep> action;
  std::string line;  // the source line of the op that the user wrote, or empty
};

// A symbol's value comes with the call, in the order of the graph's symbols.
struct Program {
  IndexTable index;
  std::uint32_t inputs = 0, symbols = 0, scalars = 0;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<Kernel> kernels;         // scheduled loops
  std::vector<std::uint32_t> results;  // slots; two results may share one, and a result may be an input's own slot
  IndexId arena_bytes = 0;
};

// Readable text: slots `@0`, steps in order, then the kernels; symbols are s0, s1, ...
std::string print(const Program& program);

}  // namespace braze::ir
