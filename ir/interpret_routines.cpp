#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/error.h"
#include "ir/interpret_graph.h"

namespace braze::ir {

using namespace host;

namespace {

// Calls f(line) for each line of the array along `axis`; line(i) is the place of its i-th element.
template <class F>
void lines(const HostArray& x, std::size_t axis, F&& f) {
  Places starts{0, x.sizes, dense_strides(x.sizes)};
  const std::int64_t stride = starts.strides[axis];
  starts.sizes[axis] = std::min<std::int64_t>(starts.sizes[axis], 1);
  walk(starts, [&](std::int64_t, std::int64_t start) { f([=](std::int64_t i) { return start + i * stride; }); });
}

// log(e^a + e^b), as PyTorch's scan computes it.
template <class T>
T log_add_exp(T a, T b) {
  const T low = std::isnan(b) ? b : std::min(a, b), high = std::isnan(b) ? b : std::max(a, b);
  if (low == high && !std::isfinite(low)) return a;
  return std::log1p(std::exp(low - high)) + high;
}

// PyTorch's accumulator: halves in f32, the other floats in f64.
template <class T>
T join(Op op, T so_far, T x) {
  return op == Op::cumsum ? so_far + x : op == Op::cumprod ? so_far * x : log_add_exp(so_far, x);
}
template <class T>
T empty(Op op) {
  return op == Op::cumsum ? T(0) : op == Op::cumprod ? T(1) : -std::numeric_limits<T>::infinity();
}
template <class T>
void scan_floats(Op op, std::size_t axis, const HostArray& x, HostArray& out) {
  lines(x, axis, [&](auto place) {
    T so_far = empty<T>(op);
    for (std::int64_t i = 0; i < x.sizes[axis]; ++i) {
      so_far = join(op, so_far, static_cast<T>(as_double(x.dtype, load(x, place(i)))));
      put(out, place(i), from_double(out.dtype, static_cast<double>(so_far)));
    }
  });
}
void scan_integers(Op op, std::size_t axis, const HostArray& x, HostArray& out) {
  lines(x, axis, [&](auto place) {
    std::uint64_t so_far = op == Op::cumsum ? 0 : 1;
    for (std::int64_t i = 0; i < x.sizes[axis]; ++i) {
      const std::uint64_t next = evaluate_cast(x.dtype, DType::i64, load(x, place(i)));
      so_far = op == Op::cumsum ? so_far + next : so_far * next;
      put(out, place(i), evaluate_cast(DType::i64, out.dtype, so_far));
    }
  });
}

void scan_extremes(Op op, std::size_t axis, const HostArray& x, HostArray& values, HostArray& indices) {
  lines(x, axis, [&](auto place) {
    std::uint64_t best = 0;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < x.sizes[axis]; ++i) {
      const std::uint64_t pair[] = {load(x, place(i)), best};
      const bool wins = evaluate(op == Op::cummax ? Op::ge : Op::le, x.dtype, pair) != 0;
      if (i == 0 || is_nan(x.dtype, pair[0]) || (!is_nan(x.dtype, best) && wins)) best = pair[0], at = i;
      put(values, place(i), best);
      put(indices, place(i), static_cast<std::uint64_t>(at));
    }
  });
}

void sort_lines(const Sort& sort, const HostArray& x, HostArray& values, HostArray& indices) {
  const auto less = [&](std::uint64_t a, std::uint64_t b) {
    if (is_nan(x.dtype, a)) return false;
    const std::uint64_t pair[] = {a, b};
    return is_nan(x.dtype, b) || evaluate(Op::lt, x.dtype, pair) != 0;
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.sizes[sort.axis]));
  lines(x, sort.axis, [&](auto place) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      const std::uint64_t a = load(x, place(i)), b = load(x, place(j));
      return sort.descending ? less(b, a) : less(a, b);
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      put(values, place(static_cast<std::int64_t>(i)), load(x, place(order[i])));
      put(indices, place(static_cast<std::int64_t>(i)), static_cast<std::uint64_t>(order[i]));
    }
  });
}

}  // namespace

void interpret_routine(Op op, const Attributes& attributes, std::span<const HostArray* const> in, std::span<HostArray> out) {
  const HostArray& x = *in[0];
  if (const auto* sort = std::get_if<Sort>(&attributes)) return sort_lines(*sort, x, out[0], out[1]);
  const auto* scan = std::get_if<Scan>(&attributes);
  if (!scan) fail("the graph interpreter has no {}: run the graph compiled", name(op));
  if (out.size() == 2) return scan_extremes(op, scan->axis, x, out[0], out[1]);
  if (!is_float(x.dtype)) return scan_integers(op, scan->axis, x, out[0]);
  if (size_of(x.dtype) == 2) return scan_floats<float>(op, scan->axis, x, out[0]);
  scan_floats<double>(op, scan->axis, x, out[0]);
}

}  // namespace braze::ir
