// Calls of the public operations, and what PyTorch gave for them; calls.txt has the rows, calls.py writes the C++ from them.
#pragma once

#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "tests/cpp/recorded.h"

namespace braze::recorded {

inline constexpr double inf = std::numeric_limits<double>::infinity();

inline float host_memory[] = {1.5f, -2.0f, 0.25f};

// A call's operand: the recorded one, on memory of its own, with its strides.
Tensor input(const char* name);

// ---- results as nests ----
template <class T>
Value value_of(const T& result) {
  return Value(result);
}
inline Value value_of(bool result) { return {result}; }
template <class... Ts>
Value value_of(const std::tuple<Ts...>& results) {
  return std::apply([](const auto&... each) { return tuple(each...); }, results);
}
template <class A, class B>
Value value_of(const std::pair<A, B>& results) {
  return tuple(results.first, results.second);
}
inline Value value_of(const MinAndMax& r) { return tuple(r.min, r.max); }
inline Value value_of(const VarAndMean& r) { return tuple(r.var, r.mean); }
inline Value value_of(const StdAndMean& r) { return tuple(r.std, r.mean); }
inline Value value_of(const Histogram& r) { return tuple(r.hist, r.bin_edges); }
// Those of its results that were asked for.
inline Value value_of(const Unique& r) {
  std::vector<Value> items = {r.output};
  for (const Tensor& asked : {r.inverse_indices, r.counts})
    if (asked.defined()) items.emplace_back(asked);
  return {Value::Kind::tuple, items};
}
// An in-place operation's result, and what it had to change.
inline Value with(const Tensor& changed, const Tensor& result) { return tuple(result, changed); }

struct Call {
  const char* text;
  Value (*call)();
};
struct Register {
  explicit Register(std::span<const Call> calls);  // which live for ever
};

}  // namespace braze::recorded
