// The machine's limit, measured in the same run: a loop that reads and writes as many bytes as a workload moves, with ordinary and
// with non-temporal stores, on the same threads and the same kind of memory.
#pragma once

#include <cstdint>
#include <memory>

namespace braze::bench {

class CopyLoop {
 public:
  // Reads and writes `bytes` in all: half in, half out.
  explicit CopyLoop(std::int64_t bytes);
  ~CopyLoop();
  void regular() const;
  void non_temporal() const;

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace braze::bench
