#include "runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "runtime/os.h"
#include "runtime/run.h"
#include "runtime/storage.h"
#include "runtime/threads.h"

namespace braze::runtime {

using ir::Fault;

namespace {

// In nanoseconds. Waking a thread that sleeps takes 10 to 20 us, and one that does not about 1 us; stop requests are answered
// within 20 ms, even where an estimate is far off.
constexpr double worth_timing = 3e3, smallest_range = 10e3, largest_range = 2e6;
constexpr float first_guess = 0.125f, interpreted_guess = 50;  // a unit of work: an element in cache
constexpr std::int64_t probe_fraction = 64;
constexpr std::int64_t ranges_a_thread = 4;
constexpr std::int64_t smallest_copy = 256 << 10, largest_copy = 16 << 20;  // bytes

using Clock = std::chrono::steady_clock;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "request_stop may be called by a signal handler");

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }

}  // namespace

bool stopping() { return stop_requested.load(std::memory_order_relaxed); }
void request_stop() { stop_requested.store(true, std::memory_order_relaxed); }
void clear_stop() { stop_requested.store(false, std::memory_order_relaxed); }

Fault Launch::run_range(std::int64_t begin, std::int64_t end) const {
  const os::FloatControl control;
  begin += first;
  end += first;
  if (interpreter) return static_cast<Fault>(interpreter->run(args, begin, end, {.buffer_elements = elements}));
  if (scratch_bytes == 0) return static_cast<Fault>(function(&args, begin, end, nullptr));
  const Block scratch = Block::allocate(scratch_bytes);
  return static_cast<Fault>(function(&args, begin, end, scratch.data()));
}

double Launch::estimate(std::int64_t iterations) const {
  const float known = cost->load(std::memory_order_relaxed);
  const double unit = known > 0 ? known : interpreter ? interpreted_guess : first_guess;
  return unit * static_cast<double>(work) * (static_cast<double>(iterations) / static_cast<double>(extent));
}

// Falls at once and rises slowly: what takes longer than expected was mostly interrupted, or met cold memory.
void Launch::learn(std::int64_t iterations, double nanoseconds) const {
  const double units = std::max(1.0, static_cast<double>(work) * (static_cast<double>(iterations) / static_cast<double>(extent)));
  const auto seen = std::max(1e-6f, static_cast<float>(nanoseconds / units));
  const float known = cost->load(std::memory_order_relaxed);
  cost->store(known == 0     ? seen
              : seen < known ? (known + seen) / 2
                             : known + (std::min(seen, 2 * known) - known) / 4,
              std::memory_order_relaxed);
}

Fault Launch::run_timed(std::int64_t begin, std::int64_t end) const {
  const auto start = Clock::now();
  const Fault fault = run_range(begin, end);
  if (fault == Fault::none) learn(end - begin, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  return fault;
}

Fault Launch::run() const {
  const bool known = cost->load(std::memory_order_relaxed) > 0;
  if (const double whole = estimate(extent); whole < 2 * smallest_range || extent <= step)
    return known && whole < worth_timing ? run_range(0, extent) : run_timed(0, extent);
  std::int64_t begin = 0;
  if (!known) {
    begin = std::min(extent, ceil_div(ceil_div(extent, probe_fraction), step) * step);
    const Fault fault = run_timed(0, begin);
    if (fault != Fault::none || begin == extent) return fault;
  }
  const double rest = estimate(extent - begin);
  const double shares = std::clamp(rest / smallest_range, 1.0, static_cast<double>(ranges_a_thread * executor().threads()));
  const auto ranges = static_cast<std::int64_t>(std::min(std::max(shares, rest / largest_range), 1e6));
  return run_shared(begin, ceil_div(ceil_div(extent - begin, step), ranges) * step);
}

Fault Launch::run_shared(std::int64_t from, std::int64_t length) const {
  struct Shared {
    const Launch& launch;
    const std::int64_t from, length;
    std::atomic<std::int64_t> earliest{std::numeric_limits<std::int64_t>::max()};  // faulting range * 256 + fault
    std::atomic<bool> stopped{false};
  } shared{*this, from, length};
  executor().run(ceil_div(extent - from, length), [&shared](std::int64_t range) {
    const Launch& launch = shared.launch;
    if (launch.may_stop && stopping()) shared.stopped.store(true, std::memory_order_relaxed);
    std::int64_t earliest = shared.earliest.load(std::memory_order_relaxed);
    // Ranges before a faulting one still run: theirs may be the first fault.
    if (shared.stopped.load(std::memory_order_relaxed) || range > earliest / 256) return;
    const std::int64_t begin = shared.from + range * shared.length;
    const Fault fault = launch.run_timed(begin, std::min(launch.extent, begin + shared.length));
    if (fault == Fault::none) return;
    const std::int64_t own = range * 256 + static_cast<std::int64_t>(fault);
    while (own < earliest && !shared.earliest.compare_exchange_weak(earliest, own, std::memory_order_relaxed)) {
    }
  });
  if (const std::int64_t found = shared.earliest.load(); found != std::numeric_limits<std::int64_t>::max())
    return static_cast<Fault>(found % 256);
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
