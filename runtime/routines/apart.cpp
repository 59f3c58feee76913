#include "runtime/routines/apart.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/launch.h"

namespace braze::runtime {

namespace {

// The threads under way. A library's destructors must not run under a thread that is in it, so the process waits for them before it exits.
class Running {
 public:
  static Running& all() {
    static Running& running = *new Running;  // outlives every thread
    return running;
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }

 private:
  Running() {
    std::atexit([] {
      std::unique_lock lock(all().mutex_);
      all().none_.wait(lock, [] { return all().count_ == 0; });
    });
  }
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

// A call with arrays and attributes of its own.
class Copy {
 public:
  explicit Copy(const RoutineCall& call) : op_(call.op), attributes_(call.attributes), may_stop_(call.may_stop) {
    sizes_.reserve(call.in.size() + call.out.size());  // arrays point into it
    for (const RoutineArray& array : call.in) in_.push_back(own(array, true));
    for (const RoutineArray& array : call.out) out_.push_back(own(array, false));
  }
  RoutineCall call() const { return {op_, attributes_, in_, out_, may_stop_}; }
  void give(std::span<const RoutineArray> out) const {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].data) std::memcpy(out[i].data, out_[i].data, bytes(out[i]));
  }

 private:
  static std::size_t bytes(const RoutineArray& array) { return static_cast<std::size_t>(array.elements() * size_of(array.type)); }
  RoutineArray own(const RoutineArray& array, bool filled) {
    sizes_.emplace_back(array.sizes.begin(), array.sizes.end());
    RoutineArray mine{array.type, sizes_.back(), nullptr};
    if (!array.data) return mine;
    memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes(array)));
    mine.data = memory_.back().get();
    if (filled) std::memcpy(mine.data, array.data, bytes(array));
    return mine;
  }

  ir::Op op_;
  ir::Attributes attributes_;
  bool may_stop_;
  std::vector<std::vector<std::int64_t>> sizes_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<RoutineArray> in_, out_;
};

}  // namespace

Outcome run_apart(Routine routine, const RoutineCall& call) {
  const auto copy = std::make_shared<Copy>(call);
  std::packaged_task<Outcome()> task([routine, copy] { return routine(copy->call()); });
  std::future<Outcome> result = task.get_future();
  Running& running = Running::all();
  running.begin();
  try {
    std::thread([task = std::move(task), &running]() mutable {
      task();
      task = {};  // the copies go before the process may exit
      running.end();
    }).detach();
  } catch (...) {
    running.end();
    throw;
  }
  using namespace std::chrono_literals;
  while (result.wait_for(5ms) != std::future_status::ready)
    if (stopping()) return {ir::Fault::stopped};
  const Outcome outcome = result.get();
  copy->give(call.out);
  return outcome;
}

}  // namespace braze::runtime
