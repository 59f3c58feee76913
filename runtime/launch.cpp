#include "runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "runtime/os.h"
#include "runtime/run.h"
#include "runtime/storage.h"
#include "runtime/threads.h"

namespace braze::runtime {

using ir::Fault;

namespace {

constexpr std::int64_t largest_range = 1 << 20;  // of work: a larger one answers a stop request too late
constexpr std::int64_t interpreted_slowdown = 64;
constexpr std::int64_t ranges_a_thread = 4;
constexpr std::int64_t smallest_copy = 256 << 10, largest_copy = 16 << 20;  // bytes

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "request_stop may be called by a signal handler");

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }

}  // namespace

bool stopping() { return stop_requested.load(std::memory_order_relaxed); }
void request_stop() { stop_requested.store(true, std::memory_order_relaxed); }
void clear_stop() { stop_requested.store(false, std::memory_order_relaxed); }

Fault Launch::run_range(std::int64_t begin, std::int64_t end) const {
  const os::FloatControl control;
  if (interpreter) return static_cast<Fault>(interpreter->run(args, begin, end, {.buffer_elements = elements}));
  if (scratch_bytes == 0) return static_cast<Fault>(function(&args, begin, end, nullptr));
  const Block scratch = Block::allocate(scratch_bytes);
  return static_cast<Fault>(function(&args, begin, end, scratch.data()));
}

std::int64_t Launch::range_length() const {
  const std::int64_t slowdown = interpreter ? interpreted_slowdown : 1;
  const std::int64_t worthwhile = work / (smallest_range / slowdown);
  if (worthwhile <= 1) return extent;
  const std::int64_t ranges =
      std::max(work / (largest_range / slowdown), std::min(worthwhile, ranges_a_thread * executor().threads()));
  return ceil_div(ceil_div(extent, step), ranges) * step;
}

Fault Launch::run() const {
  const std::int64_t length = range_length();
  return length >= extent ? run_range(0, extent) : run_ranges(length);
}

Fault Launch::run_ranges(std::int64_t length) const {
  struct Shared {
    const Launch& launch;
    const std::int64_t length;
    std::atomic<std::int64_t> earliest{std::numeric_limits<std::int64_t>::max()};  // faulting range * 256 + fault
    std::atomic<bool> stopped{false};
  } shared{*this, length};
  executor().run(ceil_div(extent, length), [&shared](std::int64_t range) {
    const Launch& launch = shared.launch;
    if (launch.may_stop && stopping()) shared.stopped.store(true, std::memory_order_relaxed);
    std::int64_t earliest = shared.earliest.load(std::memory_order_relaxed);
    // Ranges before a faulting one still run: theirs may be the first fault.
    if (shared.stopped.load(std::memory_order_relaxed) || range > earliest / 256) return;
    const std::int64_t begin = range * shared.length;
    const Fault fault = launch.run_range(begin, std::min(launch.extent, begin + shared.length));
    if (fault == Fault::none) return;
    const std::int64_t own = range * 256 + static_cast<std::int64_t>(fault);
    while (own < earliest && !shared.earliest.compare_exchange_weak(earliest, own, std::memory_order_relaxed)) {
    }
  });
  if (const std::int64_t first = shared.earliest.load(); first != std::numeric_limits<std::int64_t>::max())
    return static_cast<Fault>(first % 256);
  return shared.stopped.load() ? Fault::stopped : Fault::none;
}

Fault copy(void* to, const void* from, std::int64_t bytes, bool may_stop) {
  if (bytes == 0 || to == from) return Fault::none;
  if (bytes < 2 * smallest_copy) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return Fault::none;
  }
  const std::int64_t pieces =
      std::max(bytes / largest_copy, std::min(bytes / smallest_copy, ranges_a_thread * executor().threads()));
  struct Shared {
    char* to;
    const char* from;
    std::int64_t bytes, length;
    bool may_stop;
    std::atomic<bool> stopped{false};
    // Whole pages: no two threads write one line.
  } shared{static_cast<char*>(to), static_cast<const char*>(from), bytes, ceil_div(ceil_div(bytes, pieces), 4096) * 4096, may_stop};
  executor().run(ceil_div(bytes, shared.length), [&shared](std::int64_t piece) {
    if (shared.may_stop && stopping()) shared.stopped.store(true, std::memory_order_relaxed);
    if (shared.stopped.load(std::memory_order_relaxed)) return;
    const std::int64_t begin = piece * shared.length, count = std::min(shared.length, shared.bytes - begin);
    std::memcpy(shared.to + begin, shared.from + begin, static_cast<std::size_t>(count));
  });
  return shared.stopped.load() ? Fault::stopped : Fault::none;
}

}  // namespace braze::runtime
