// One kernel, or one copy, over its whole extent: split into ranges where that pays, run by the executor.
#pragma once

#include <cstdint>
#include <span>

#include "ir/loops.h"

namespace braze::runtime {

// Work below this costs more to hand out than it saves, and streaming stores gain nothing.
inline constexpr std::int64_t smallest_range = 32 << 10;

// A stop was requested and not cleared.
bool stopping();

struct Launch {
  ir::KernelFunction function = nullptr;
  const ir::LoopInterpreter* interpreter = nullptr;  // in place of the function
  ir::KernelArgs args{};
  std::span<const std::int64_t> elements{};  // of each buffer: the interpreter checks every access
  std::int64_t scratch_bytes = 0;
  std::int64_t extent = 0, step = 1;  // of the parallel loop; the extent is not 0
  std::int64_t work = 0;
  bool may_stop = true;  // polls between ranges

  // Of several faults, returns that of the first range, whatever the threads did.
  ir::Fault run() const;

 private:
  ir::Fault run_range(std::int64_t begin, std::int64_t end) const;
  std::int64_t range_length() const;
  ir::Fault run_ranges(std::int64_t length) const;
};

// Returns stopped or none.
ir::Fault copy(void* to, const void* from, std::int64_t bytes, bool may_stop);

}  // namespace braze::runtime
