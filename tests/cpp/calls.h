// Calls of the public operations, and what PyTorch gave for them; calls.txt has the rows, calls.py writes the C++ from them.
#pragma once

#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "braze/nn.h"
#include "braze/optim.h"
#include "braze/optim/schedulers.h"
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

// A parameter and the optimizer's state, by name, after four steps.
template <class Optimizer>
Value trained(const Tensor& x, const typename Optimizer::Options& options) {
  const Tensor p = x.clone().requires_grad_();
  Optimizer optimizer(std::vector<Tensor>{p}, options);
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    (pow(p, 3) / 3 + p * p).sum().backward();
    optimizer.step();
  }
  std::map<std::string, Tensor> state;
  for (const auto& [name, value] : optimizer.state(p)) state[name] = value;
  std::vector<Value> all{p.detach()};
  for (const auto& [name, value] : state) all.emplace_back(value);
  return {Value::Kind::tuple, all};
}
template <class Optimizer>
std::string settings() {
  return Optimizer(std::vector<Tensor>{zeros({1}).requires_grad_()}).str();
}
// The rates of twelve epochs.
template <class Scheduler, class Options>
Value rates(const Options& options) {
  optim::SGD sgd(std::vector<Tensor>{zeros({1}).requires_grad_()}, {.lr = 0.5, .momentum = 0.9});
  Scheduler scheduler(sgd, options);
  std::vector<Value> all;
  for (int epoch = 0; epoch < 12; ++epoch) {
    all.emplace_back(scheduler.get_last_lr()[0]);
    sgd.step();
    scheduler.step();
  }
  return {Value::Kind::tuple, all};
}

struct Call {
  const char* text;
  Value (*call)();
};
struct Register {
  explicit Register(std::span<const Call> calls);  // which live for ever
};

}  // namespace braze::recorded
