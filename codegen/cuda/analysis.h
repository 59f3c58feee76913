// What the CUDA printer must know of a kernel before it prints the first line: how often each value is used and where, what
// integers can be, and the block's shape.
//
// A kernel is fit for a GPU when it keeps the laws of ir/loops.h and
//  * has block loops, at most three in a nest, around thread loops, at most three in a nest (so no parallel or vector loop);
//  * every thread of a block reaches a barrier or a shuffle: none stands in a thread loop narrower than the block; a kernel
//    with shuffles has whole warps;
//  * its scratch is shared, or of one array a thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/loops.h"

namespace braze::codegen::cuda {

// Bounds of an integer value. Loop variables, sizes (every size, stride and offset lies within +-2^47, what an address space
// can hold) and constants have tight ones, so that index arithmetic prints as `a * b + c`; user data does not, and wraps.
struct Range {
  std::int64_t low, high;
  friend bool operator==(const Range&, const Range&) = default;
};
Range range_of(DType type);
// What an operation may give. `wraps`: C++'s own operator may overflow, or differs from the primitive otherwise.
struct RangeResult {
  Range range;
  bool wraps;
};
RangeResult range_of(const ir::Instruction& instruction, const std::array<Range, 3>& operands);

struct Analysis {
  std::vector<std::uint32_t> uses;     // by ValueId
  std::vector<std::uint32_t> home;     // the number of the block that defines a value
  std::vector<std::uint32_t> used_in;  // the block of its last use
  std::vector<Range> ranges;
  std::array<std::int64_t, 3> threads{1, 1, 1};  // blockDim.x, .y, .z
  std::int64_t threads_per_block() const { return threads[0] * threads[1] * threads[2]; }
};

// Throws InternalError for a kernel that is not fit for a GPU.
Analysis analyse(const ir::Kernel& kernel);

// The dimension that a thread loop takes: 0 for the innermost of a nest, as lanes of a warp are neighbours in threadIdx.x.
int thread_dimension(const ir::For& loop);
// Whether a thread loop leaves out threads of the block: it is shorter than its dimension, or (the outermost of its nest) has
// fewer dimensions than the block.
bool is_narrow(const ir::For& loop, const std::array<std::int64_t, 3>& threads, bool outermost);

}  // namespace braze::codegen::cuda
