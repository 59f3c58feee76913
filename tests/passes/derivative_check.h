// Derivatives of a graph against finite differences of it, and one mode against the other.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "ir/interpret_graph.h"
#include "passes/derivative.h"
#include "tests/catch.h"

namespace braze::test {

using Arrays = std::vector<ir::HostArray>;
using Runner = std::function<Arrays(const ir::Graph&, const Arrays&, const std::vector<std::int64_t>&)>;

inline Arrays interpreted(const ir::Graph& graph, const Arrays& arguments, const std::vector<std::int64_t>& symbols) {
  return ir::interpret(graph, arguments, symbols);
}

inline double at(const ir::HostArray& a, std::int64_t i) { return ir::host::as_double(a.dtype, ir::host::load(a, i)); }
inline void set(ir::HostArray& a, std::int64_t i, double value) { ir::host::put(a, i, ir::host::from_double(a.dtype, value)); }
inline ir::HostArray duplicate(const ir::HostArray& a) {
  ir::HostArray out = ir::make_host_array(a.dtype, a.sizes);
  for (std::int64_t i = 0; i < a.elements(); ++i) ir::host::put(out, i, ir::host::load(a, i));
  return out;
}

// x + h * v in the float arrays.
inline Arrays moved(const Arrays& x, const Arrays& v, double h) {
  Arrays out;
  for (std::size_t k = 0; k < x.size(); ++k) {
    out.push_back(duplicate(x[k]));
    if (!is_float(x[k].dtype)) continue;
    for (std::int64_t i = 0; i < x[k].elements(); ++i) set(out.back(), i, at(x[k], i) + h * at(v[k], i));
  }
  return out;
}

// Numbers between -1 and 1 for each float array of `shapes`.
inline Arrays random_like(const Arrays& shapes, std::mt19937& random) {
  Arrays out;
  std::uniform_real_distribution<double> number(-1, 1);
  for (const ir::HostArray& a : shapes) {
    out.push_back(ir::make_host_array(a.dtype, a.sizes));
    if (is_float(a.dtype))
      for (std::int64_t i = 0; i < a.elements(); ++i) set(out.back(), i, number(random));
  }
  return out;
}

inline Arrays floats(const Arrays& all) {
  Arrays out;
  for (const ir::HostArray& a : all)
    if (is_float(a.dtype)) out.push_back(a);
  return out;
}

inline double inner(const Arrays& a, const Arrays& b) {
  double total = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::int64_t i = 0; i < a[k].elements(); ++i) total += at(a[k], i) * at(b[k], i);
  return total;
}

inline double magnitude(const Arrays& a) {
  double most = 0;
  for (const ir::HostArray& x : a)
    for (std::int64_t i = 0; i < x.elements(); ++i) most = std::max(most, std::abs(at(x, i)));
  return most;
}

inline Arrays joined(Arrays a, const Arrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Check {
  Runner run = interpreted;
  double tolerance = 2e-6, step = 1e-5;
  Arrays direction;  // random where empty
};

// f at x, differentiated `order` times: forward mode is what finite differences say, and <c, J v> = <J^T c, v>. A function that is not
// finite at x is not checked. Returns whether it was.
inline bool check_derivative(const ir::Graph& f, const Arrays& x, const std::vector<std::int64_t>& symbols, int order,
                             std::mt19937& random, const Check& how = {}) {
  const Arrays v = how.direction.empty() ? random_like(x, random) : how.direction;
  const Arrays y = floats(how.run(f, x, symbols));
  for (const ir::HostArray& a : y)
    for (std::int64_t i = 0; i < a.elements(); ++i)
      if (!std::isfinite(at(a, i))) return false;
  const Arrays high = floats(how.run(f, moved(x, v, how.step), symbols)), low = floats(how.run(f, moved(x, v, -how.step), symbols));

  const ir::Graph forward = passes::jvp(f), backward = passes::vjp(f);
  verify(forward);
  verify(backward);
  INFO(print(f));
  const Arrays pushed = how.run(forward, joined(x, floats(v)), symbols);
  REQUIRE(pushed.size() == y.size());
  const double scale = 1 + magnitude(y) + magnitude(pushed);
  for (std::size_t k = 0; k < y.size(); ++k)
    for (std::int64_t i = 0; i < y[k].elements(); ++i) {
      const double difference = (at(high[k], i) - at(low[k], i)) / (2 * how.step);
      if (!(std::abs(difference - at(pushed[k], i)) <= how.tolerance * scale)) {
        INFO(print(forward));
        CAPTURE(k, i, difference, at(pushed[k], i));
        FAIL_CHECK("jvp is not what finite differences say");
        return true;
      }
    }

  const Arrays c = random_like(y, random);
  const Arrays pulled = how.run(backward, joined(x, c), symbols);
  const double forwards = inner(c, pushed), backwards = inner(pulled, floats(v));
  if (!(std::abs(forwards - backwards) <= 1e-9 * (scale + std::abs(forwards)) * (1 + magnitude(pulled)))) {
    INFO(print(backward));
    CAPTURE(forwards, backwards);
    FAIL_CHECK("vjp is not the adjoint of jvp");
    return true;
  }
  if (order > 1) {
    Check next = how;
    next.tolerance = 20 * how.tolerance;
    next.direction = {};
    if (!how.direction.empty()) next.direction = joined(how.direction, random_like(c, random));
    CHECK(check_derivative(backward, joined(x, c), symbols, order - 1, random, next));
    if (!how.direction.empty()) next.direction = joined(how.direction, floats(how.direction));
    CHECK(check_derivative(forward, joined(x, floats(v)), symbols, order - 1, random, next));
  }
  return true;
}

// Symbols by name: n = 4, m = 3, k = 2, s = 1, z = 0.
inline std::vector<std::int64_t> symbols_of(const ir::Graph& graph) {
  std::vector<std::int64_t> values;
  for (const std::string& name : graph.symbols)
    values.push_back(name == "n" ? 4 : name == "m" ? 3 : name == "k" ? 2 : name == "s" ? 1 : name == "z" ? 0 : 5);
  return values;
}

// Floats between low and high, no two of an array closer than a hundredth of that, which keeps off ties; integers from 0 to 3, or, in a
// parameter whose name begins with "distinct", 0, 1, 2, ... in random order; booleans.
inline Arrays arguments_of(const ir::Graph& graph, double low, double high, std::mt19937& random) {
  const std::vector<std::int64_t> symbols = symbols_of(graph);
  Arrays out;
  for (std::size_t p = 0; p < graph.parameters().size(); ++p) {
    const ir::Type& type = graph.type(graph.parameters()[p]);
    std::vector<std::int64_t> sizes;
    for (ir::Extent e : type.shape) sizes.push_back(e.is_symbol() ? symbols[e.symbol()] : e.number());
    ir::HostArray a = ir::make_host_array(type.dtype, sizes);
    std::vector<std::int64_t> order(static_cast<std::size_t>(a.elements()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    std::uniform_real_distribution<double> jitter(0.2, 0.8);
    const bool distinct = graph.parameter_name(p).starts_with("distinct");
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      const auto place = static_cast<double>(order[static_cast<std::size_t>(i)]);
      if (is_float(type.dtype))
        set(a, i, low + (high - low) * (place + jitter(random)) / static_cast<double>(a.elements()));
      else
        set(a, i, distinct ? place : static_cast<double>(random() % (type.dtype == DType::boolean ? 2 : 4)));
    }
    out.push_back(a);
  }
  return out;
}

}  // namespace braze::test
