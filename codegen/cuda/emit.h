// Kernels as CUDA C++: one self-contained, readable translation unit that needs no header.
//
// How a printed function is called. With `k` the kernel,
//
//   extern "C" __global__ void braze_<k.name>(
//       T0* b0, const T1* b1, ...,        k.buffers in order: the slot's first element; bool's bytes are u8
//       i64 n, ...,                       k.sizes in order
//       float s0, ...,                    k.scalars in order: the dtype itself, bool as bool, f16 and bf16 as their bits
//       int* status)                      always there: one int in device memory that starts at 0 (ir::Fault)
//
// so that `void** params` of cuLaunchKernel is the addresses, in that order, of each buffer pointer, of each
// KernelArgs::sizes[i], of each KernelArgs::scalars[i] (raw bits, low bits first: a narrower parameter reads what it needs),
// and of the status pointer. No two buffers of a kernel overlap unless both are only read.
//
//  * Blocks: the outermost block loop runs over blockIdx.x, the next over .y, .z. Block loops stride by gridDim, so every
//    grid computes the same; a launch uses min(extent, 2^31 - 1) blocks in x, where extent is KernelStep::extent (the step
//    is skipped when it is 0), and at most 65535 in y and z, where 1 is always right.
//  * Threads: launch_threads(k), constants of the kernel, __launch_bounds__ of the function. The innermost thread loop is
//    threadIdx.x. No dynamic shared memory.
//  * A fault leaves the largest ir::Fault met in *status; the kernel runs on, over defined values.
//
// Bits are the loop interpreter's, but for: the sign and payload of a NaN, and library calls, which are CUDA's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/loops.h"

namespace braze::codegen::cuda {

// Throws InternalError for a kernel that is not scheduled for a GPU (see analysis.h).
std::string emit(std::span<const ir::Kernel> kernels);

// The functions' names, in order; kernels of equal names are numbered.
std::vector<std::string> entry_names(std::span<const ir::Kernel> kernels);

// blockDim of a launch.
std::array<std::int64_t, 3> launch_threads(const ir::Kernel& kernel);

}  // namespace braze::codegen::cuda
