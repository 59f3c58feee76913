// What the plan asks of a scheduled kernel and changes in it: its buffers, and whether it may stop early.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/loops.h"

namespace braze::passes {

bool can_fault(const ir::Kernel& kernel);
// By buffer: whether something is loaded from it.
std::vector<bool> buffers_read(const ir::Kernel& kernel);
// Buffers that stand for one slot become one; `slots` follows the kernel's buffers, before and after.
void merge_buffers(ir::Kernel& kernel, std::vector<std::uint32_t>& slots);

}  // namespace braze::passes
