// Parallel loops through one interface; oneTBB behind it, or plain std::thread (BRAZE_PLAIN_THREADS, for TSan), or the host's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace braze::runtime {

class Executor {
 public:
  virtual ~Executor() = default;
  virtual int threads() const = 0;  // that may work at once, the caller's included
  // Calls task(i) for 0 <= i < tasks, in any order and on any threads, the caller's included; returns when all have ended.
  // The first exception is rethrown after the others ended; tasks that have not begun by then may be left out.
  virtual void run(std::int64_t tasks, const std::function<void(std::int64_t)>& task) = 0;
};

Executor& executor();
// nullptr: back to the built-in one. Not while anything runs: the one before may be destroyed.
void set_executor(std::shared_ptr<Executor> host);
// How many threads the built-in executor uses; at any time. At least 1; throws ValueError otherwise. The first value is
// BRAZE_NUM_THREADS, else the cores this process may use.
void set_num_threads(int count);
int num_threads();

}  // namespace braze::runtime
