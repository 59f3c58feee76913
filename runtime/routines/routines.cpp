#include "runtime/routines.h"

#include <algorithm>
#include <atomic>

#include "ir/error.h"
#include "runtime/launch.h"
#include "runtime/routines/apart.h"
#include "runtime/threads.h"

namespace braze::runtime {

namespace {

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

// LAPACK looks at nothing before it returns, so that a call which may take long is made where a stop can leave it.
bool takes_long_in_lapack(const RoutineCall& call) {
  constexpr std::int64_t least = 1 << 24;  // elements times rows: milliseconds
  switch (call.op) {
    case ir::Op::cholesky:
    case ir::Op::lu_factor:
    case ir::Op::lu_solve:
    case ir::Op::solve_triangular:
    case ir::Op::qr:
    case ir::Op::svd:
    case ir::Op::eigh:
    case ir::Op::eig: {
      const std::span<const std::int64_t> sizes = call.in[0].sizes;
      return call.in[0].elements() >= least / std::max<std::int64_t>(std::min(sizes.back(), sizes[sizes.size() - 2]), 1);
    }
    default:
      return false;
  }
}

Outcome run(Routine routine, const RoutineCall& call) {
  return call.may_stop && takes_long_in_lapack(call) ? run_apart(routine, call) : routine(call);
}

}  // namespace

std::int64_t RoutineArray::elements() const { return product(sizes); }
std::int64_t RoutineArray::before(std::size_t axis) const { return product(sizes.first(axis)); }
std::int64_t RoutineArray::behind(std::size_t axis) const { return product(sizes.subspan(axis + 1)); }

Outcome run_routine(const RoutineCall& call) try {
  switch (call.op) {
#define BRAZE_ROUTINE(name, attributes, results) \
  case ir::Op::name:                             \
    return run(routines::name, call);
#include "ir/ops.def"
    default:
      break;
  }
  invariant(false, "{} is no routine", ir::name(call.op));
  return {};
} catch (const routines::Stopped&) {
  return {ir::Fault::stopped};
}

namespace routines {

void answer_stop(bool may_stop) {
  if (may_stop && stopping()) throw Stopped{};
}

ir::Fault in_parallel(std::int64_t count, std::int64_t work, bool may_stop,
                      const std::function<void(std::int64_t, std::int64_t)>& range) {
  constexpr std::int64_t least = 1 << 15, most = 1 << 20;  // elements of a range: worth a thread, and soon answering a stop
  if (count == 0) return ir::Fault::none;
  const std::int64_t total = count * std::max<std::int64_t>(work, 1);
  const std::int64_t shares = std::clamp<std::int64_t>(total / least, 1, 4 * executor().threads());
  const std::int64_t ranges = std::min(count, std::max(shares, total / most));
  if (ranges == 1) {
    range(0, count);
    return ir::Fault::none;
  }
  std::atomic<bool> stopped{false};
  executor().run(ranges, [&](std::int64_t i) {
    if (may_stop && stopping()) stopped.store(true, std::memory_order_relaxed);
    if (!stopped.load(std::memory_order_relaxed)) range(count * i / ranges, count * (i + 1) / ranges);
  });
  return stopped.load() ? ir::Fault::stopped : ir::Fault::none;
}

}  // namespace routines

}  // namespace braze::runtime
