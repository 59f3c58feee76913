// What tests of the front end compare: elements as C++ vectors, and the words of a refusal.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "braze/braze.h"
#include "tests/catch.h"

namespace braze::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;

inline Floats floats(const Tensor& t) { return t.contiguous().to_vector<float>(); }
inline Doubles doubles(const Tensor& t) { return t.contiguous().to_vector<double>(); }
inline Integers integers(const Tensor& t) { return t.contiguous().to_vector<std::int64_t>(); }

// A float32 tensor that requires grad.
inline Tensor leaf(const NestedData& data) { return tensor(data, {float32}).requires_grad_(); }

// Values that repeat no pattern of the sizes in use; sums of them and of their products stay exact.
inline Tensor ramp(SizesView sizes) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  return (arange(n) * 7 % 11 - 5).to(float32).reshape(sizes);
}

// What the error says that `f` throws.
template <class E = Error, class F>
std::string refused(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing thrown";
}

// Equal to the precision that PyTorch's own kernels differ by among machines; NaN equals NaN.
inline void close(const Tensor& t, const Floats& expected, double tolerance = 1e-5) {
  const Floats got = floats(t.to(float32));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": " << got[i] << " for " << expected[i]);
    CHECK(((std::isnan(got[i]) && std::isnan(expected[i])) || got[i] == expected[i] ||
           std::abs(got[i] - expected[i]) <= 1e-6 + tolerance * std::abs(expected[i])));
  }
}

}  // namespace braze::test
