// ir/math.h: exact special values, and random inputs against the system's libm one format wider. `./dev ulp` is the full sweep.
#include "ir/math.h"

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "tests/catch.h"

using namespace braze::ir;

namespace {

template <class T>
constexpr T inf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

template <class T>
struct Function {
  T (*ours)(T);
  long double (*exact)(long double);
};

template <class T>
const std::map<std::string, Function<T>>& functions() {
  static const std::map<std::string, Function<T>> all = [] {
    std::map<std::string, Function<T>> all = {
        {"exp", {[](T x) { return math::exp(Number<T>{x}).value; }, [](long double x) { return std::exp(x); }}},
        {"exp2", {[](T x) { return math::exp2(Number<T>{x}).value; }, [](long double x) { return std::exp2(x); }}},
        {"expm1", {[](T x) { return math::expm1(Number<T>{x}).value; }, [](long double x) { return std::expm1(x); }}},
        {"log", {[](T x) { return math::log(Number<T>{x}).value; }, [](long double x) { return std::log(x); }}},
        {"log1p", {[](T x) { return math::log1p(Number<T>{x}).value; }, [](long double x) { return std::log1p(x); }}},
        {"tanh", {[](T x) { return math::tanh(Number<T>{x}).value; }, [](long double x) { return std::tanh(x); }}},
        {"sigmoid", {[](T x) { return math::sigmoid(Number<T>{x}).value; }, [](long double x) { return 1 / (1 + std::exp(-x)); }}},
    };
    if constexpr (std::same_as<T, float>)
      all["erf"] = {[](T x) { return math::erf(Number<T>{x}).value; }, [](long double x) { return std::erf(x); }};
    return all;
  }();
  return all;
}

template <class T>
bool same(T a, T b) {
  return std::isnan(b) ? std::isnan(a) : to_bits(a) == to_bits(b);
}

// |result - exact| in units of the last place of T at `exact`; an infinite result counts as 2^emax.
template <class T>
double ulps(T result, long double exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact) || std::isnan(result)) return std::isnan(exact) == std::isnan(result) ? 0 : inf<double>;
  if (same(result, static_cast<T>(exact))) return 0;
  if (exact == 0 || std::isinf(exact)) return inf<double>;
  const long double limit = std::ldexp(1.0L, Limits::max_exponent);
  const long double value =
      std::isinf(result) ? std::copysign(limit, static_cast<long double>(result)) : static_cast<long double>(result);
  const int exponent = std::max(std::ilogb(std::min(std::fabs(exact), limit / 2)), Limits::min_exponent - 1);
  return static_cast<double>(std::fabs(value - exact) / std::ldexp(1.0L, exponent - Limits::digits + 1));
}

}  // namespace

TEMPLATE_TEST_CASE("Special values are exact", "", float, double) {
  using T = TestType;
  const auto f = [](const char* name, T x) { return functions<T>().at(name).ours(x); };
  for (const auto& [name, function] : functions<T>()) {
    INFO(name);
    CHECK(std::isnan(function.ours(not_a_number<T>)));
  }
  for (const char* odd : {"expm1", "log1p", "tanh"})
    for (T zero : {T(0), T(-0.0)}) {
      INFO(odd);
      CHECK(same(f(odd, zero), zero));
      for (T tiny : {std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min()}) {
        CHECK(same(f(odd, tiny), tiny));
        CHECK(same(f(odd, -tiny), -tiny));
      }
    }
  for (const char* power : {"exp", "exp2"}) {
    INFO(power);
    CHECK(f(power, 0) == 1);
    CHECK(f(power, T(-0.0)) == 1);
    CHECK(f(power, inf<T>) == inf<T>);
    CHECK(same(f(power, -inf<T>), T(0)));
    CHECK(f(power, T(1e6)) == inf<T>);
    CHECK(same(f(power, T(-1e6)), T(0)));
  }
  CHECK(f("expm1", inf<T>) == inf<T>);
  CHECK(f("expm1", -inf<T>) == -1);
  CHECK(f("expm1", T(-1e6)) == -1);
  CHECK(same(f("log", 1), T(0)));
  for (T zero : {T(0), T(-0.0)}) CHECK(f("log", zero) == -inf<T>);
  CHECK(f("log", inf<T>) == inf<T>);
  CHECK(f("log1p", inf<T>) == inf<T>);
  CHECK(f("log1p", -1) == -inf<T>);
  for (T negative : {-inf<T>, T(-1e30), -std::numeric_limits<T>::denorm_min()}) CHECK(std::isnan(f("log", negative)));
  for (T below : {-inf<T>, T(-1e30), std::nextafter(T(-1), T(-2))}) CHECK(std::isnan(f("log1p", below)));
  CHECK(f("tanh", inf<T>) == 1);
  CHECK(f("tanh", -inf<T>) == -1);
  if constexpr (std::same_as<T, float>) {
    for (T x : {T(0), T(-0.0), inf<T>, -inf<T>, std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min()})
      CHECK(same(f("erf", x), std::erf(x)));
  }
  CHECK(f("sigmoid", 0) == T(0.5));
  CHECK(f("sigmoid", inf<T>) == 1);
  CHECK(same(f("sigmoid", -inf<T>), T(0)));
}

TEMPLATE_TEST_CASE("exp2 of integers is exact, down to the last subnormal", "", float, double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  for (int n = Limits::min_exponent - Limits::digits - 3; n <= Limits::max_exponent + 3; ++n)
    if (!same(functions<T>().at("exp2").ours(static_cast<T>(n)), std::ldexp(T(1), n))) FAIL(n);
}

TEMPLATE_TEST_CASE("Overflow and underflow begin where they must", "", float, double) {
  using T = TestType;
  for (const char* name : {"exp", "exp2", "expm1", "sigmoid"}) {
    const auto [ours, exact] = functions<T>().at(name);
    for (T start : {std::log(std::numeric_limits<T>::max()), std::log(std::numeric_limits<T>::min()),
                    std::log(std::numeric_limits<T>::denorm_min()), T(std::numeric_limits<T>::max_exponent),
                    T(std::numeric_limits<T>::min_exponent)}) {
      T x = start;
      for (int i = 0; i < 200; ++i) x = std::nextafter(x, -inf<T>);
      for (int i = 0; i < 400; ++i, x = std::nextafter(x, inf<T>))
        if (!(ulps(ours(x), exact(x)) <= 1.01)) FAIL(name << " " << x << " gives " << ours(x));
    }
  }
}

TEMPLATE_TEST_CASE("Random inputs are within 1 ULP", "", float, double) {
  using T = TestType;
  std::mt19937_64 random(6);
  std::map<std::string, double> worst;
  for (int i = 0; i < 60'000; ++i) {
    const std::uint64_t bits = random();
    const double fraction = static_cast<double>(bits >> 11) * 0x1p-53;
    T x = from_bits<T>(bits);
    if (i % 4 == 1) x = static_cast<T>((fraction - 0.5) * 4);
    if (i % 4 == 2) x = static_cast<T>((fraction - 0.5) * 1500);
    if (i % 4 == 3) x = static_cast<T>(1 + std::ldexp(fraction - 0.5, -static_cast<int>(bits % 50)));
    for (const auto& [name, function] : functions<T>()) {
      const double error = ulps(function.ours(x), function.exact(x));
      if (!(error <= 1.0)) FAIL(name << " of " << x << " is " << function.ours(x) << ", " << error << " ULP off");
    }
  }
}

TEMPLATE_TEST_CASE("exp, log, tanh and sigmoid never fall where the function rises by more than their error", "", float, double) {
  using T = TestType;
  std::mt19937_64 random(7);
  for (const char* name : {"exp", "log", "tanh", "sigmoid"}) {
    const auto ours = functions<T>().at(name).ours;
    for (int i = 0; i < 20'000; ++i) {
      const T x = static_cast<T>(std::fabs(static_cast<double>(random() >> 11) * 0x1p-53 * 20)) + T(0.01);
      const T further = x * (1 + 64 * std::numeric_limits<T>::epsilon());
      if (ours(further) < ours(x)) FAIL(name << " falls after " << x);
    }
  }
}
