// Scans. Each line is computed in order, as PyTorch's CPU kernels do, so that a result does not depend on threads; what is parallel
// are lines. Lines that lie side by side in memory are taken a strip at a time, a row of the strip after the other.
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/routines.h"
#include "runtime/routines/elements.h"

namespace braze::runtime::routines {

namespace {

constexpr std::int64_t strip = 64;

// Calls f(first, lines) for strips: `lines` adjacent lines whose element i stands at first + i * behind + line.
template <class F>
Outcome strips(const RoutineCall& call, const F& f) {
  const RoutineArray& x = call.in[0];
  const std::size_t axis = call.of<ir::Scan>().axis;
  const std::int64_t behind = x.behind(axis), length = x.sizes[axis], across = (behind + strip - 1) / strip;
  const std::int64_t count = x.before(axis) * across;
  if (x.elements() == 0) return {};
  return {in_parallel(count, length * std::min(behind, strip), call.may_stop, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t outer = i / across, inner = i % across * strip;
      f(outer * length * behind + inner, std::min(strip, behind - inner));
    }
  })};
}

// PyTorch's accumulator: f32 for halves, f64 for floats, wrapping 64 bits for integers.
template <class T>
using Accumulated = std::conditional_t<!is_real<T>, std::uint64_t, std::conditional_t<sizeof(T) == 2, float, double>>;

struct Sum {
  template <class A>
  static constexpr A empty = A(0);
  template <class A>
  static A join(A so_far, A x) {
    return so_far + x;
  }
};
struct Product {
  template <class A>
  static constexpr A empty = A(1);
  template <class A>
  static A join(A so_far, A x) {
    return so_far * x;
  }
};
struct LogSumExp {
  template <class A>
  static constexpr A empty = -std::numeric_limits<A>::infinity();
  template <class A>
  static A join(A a, A b) {
    const A low = std::isnan(b) ? b : std::min(a, b), high = std::isnan(b) ? b : std::max(a, b);
    if (low == high && !std::isfinite(low)) return a;
    return std::log1p(std::exp(low - high)) + high;
  }
};

template <class Join, class T>
Outcome scan(const RoutineCall& call) {
  using A = Accumulated<T>;
  const T* x = call.in[0].as<T>();
  T* out = call.out[0].as<T>();
  if (!out) return {};
  const std::size_t axis = call.of<ir::Scan>().axis;
  const std::int64_t length = call.in[0].sizes[axis], behind = call.in[0].behind(axis);
  return strips(call, [=, may_stop = call.may_stop](std::int64_t first, std::int64_t lines) {
    A so_far[strip];
    std::fill_n(so_far, lines, Join::template empty<A>);
    in_blocks(length, may_stop, [=, &so_far](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin, at = first + begin * behind; i < end; ++i, at += behind)
        for (std::int64_t line = 0; line < lines; ++line) {
          so_far[line] = Join::join(so_far[line], static_cast<A>(wide(x[at + line])));
          out[at + line] = narrow<T>(so_far[line]);
        }
    });
  });
}

template <class Join>
Outcome scan_numbers(const RoutineCall& call) {
  return ir::with_type(call.in[0].type, [&]<class T>(std::type_identity<T>) -> Outcome {
    if constexpr (std::same_as<T, bool> || (std::same_as<Join, LogSumExp> && !is_real<T>))
      return {};  // infer refuses them
    else
      return scan<Join, T>(call);
  });
}

template <bool greatest, class T>
Outcome extremes(const RoutineCall& call) {
  const T* x = call.in[0].as<T>();
  T* values = call.out[0].as<T>();
  auto* indices = call.out[1].as<std::int64_t>();
  const std::size_t axis = call.of<ir::Scan>().axis;
  const std::int64_t length = call.in[0].sizes[axis], behind = call.in[0].behind(axis);
  return strips(call, [=, may_stop = call.may_stop](std::int64_t first, std::int64_t lines) {
    T best[strip];
    std::int64_t where[strip];
    in_blocks(length, may_stop, [=, &best, &where](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin, at = first + begin * behind; i < end; ++i, at += behind)
        for (std::int64_t line = 0; line < lines; ++line) {
          const T next = x[at + line];
          const bool wins = greatest ? wide(next) >= wide(best[line]) : wide(next) <= wide(best[line]);
          if (i == 0 || is_nan(next) || (!is_nan(best[line]) && wins)) {
            best[line] = next;
            where[line] = i;
          }
          if (values) values[at + line] = best[line];
          if (indices) indices[at + line] = where[line];
        }
    });
  });
}

template <bool greatest>
Outcome scan_extremes(const RoutineCall& call) {
  return ir::with_type(call.in[0].type, [&]<class T>(std::type_identity<T>) { return extremes<greatest, T>(call); });
}

}  // namespace

Outcome cumsum(const RoutineCall& call) { return scan_numbers<Sum>(call); }
Outcome cumprod(const RoutineCall& call) { return scan_numbers<Product>(call); }
Outcome logcumsumexp(const RoutineCall& call) { return scan_numbers<LogSumExp>(call); }
Outcome cummax(const RoutineCall& call) { return scan_extremes<true>(call); }
Outcome cummin(const RoutineCall& call) { return scan_extremes<false>(call); }

}  // namespace braze::runtime::routines
