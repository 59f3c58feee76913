// One phase of a kernel, or one copy, over its whole extent: split into ranges where that pays, run by the executor.
//
// What pays is learnt: a step remembers what a unit of its work took, so that a heavy kernel on few elements is shared, a light
// one on many is not, and a range ends soon enough to answer a stop request. Ranges never change a result.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "ir/loops.h"

namespace braze::runtime {

// A stop was requested and not cleared.
bool stopping();

struct Launch {
  ir::KernelFunction function = nullptr;
  const ir::LoopInterpreter* interpreter = nullptr;  // in place of the function
  ir::KernelArgs args{};
  std::span<const std::int64_t> elements{};  // of each buffer: the interpreter checks every access
  std::int64_t scratch_bytes = 0;
  std::int64_t first = 0;             // the phase's first iteration
  std::int64_t extent = 0, step = 1;  // of its parallel loop; the extent is not 0
  std::int64_t work = 0;
  std::atomic<float>* cost = nullptr;  // nanoseconds a unit of work, 0 until known
  bool may_stop = true;                // polls between ranges

  // Of several faults, returns that of the first range, whatever the threads did.
  ir::Fault run() const;

 private:
  ir::Fault run_range(std::int64_t begin, std::int64_t end) const;
  ir::Fault run_timed(std::int64_t begin, std::int64_t end) const;
  ir::Fault run_shared(std::int64_t begin, std::int64_t length) const;
  double estimate(std::int64_t iterations) const;
  void learn(std::int64_t iterations, double nanoseconds) const;
};

// Returns stopped or none.
ir::Fault copy(void* to, const void* from, std::int64_t bytes, bool may_stop);

}  // namespace braze::runtime
