// DLPack: memory shared with other libraries, nothing copied. https://dmlc.github.io/dlpack/latest/
//
// The structure is that of dlpack.h (DLManagedTensor, before version 1), which this header does not need.
#pragma once

#include "braze/tensor.h"

struct DLManagedTensor;

namespace braze {

// x's memory for another library, with x's sizes and strides. It is shared, both ways, until the other library calls the structure's
// `deleter`; an op that reads or writes it meanwhile runs at once. Evaluates.
DLManagedTensor* to_dlpack(const Tensor& x);
// A tensor on another library's memory. The structure is taken over, and deleted when the last tensor on the memory is gone. Throws
// DeviceError unless the memory is the CPU's, TypeError for a dtype that Braze has not; the structure then stays the caller's.
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace braze
