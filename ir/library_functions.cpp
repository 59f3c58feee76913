// The closed list of libm functions as addresses. Whoever links machine code binds the symbols to these addresses, so that
// the interpreter and a kernel call the same function.
#include <cmath>
#include <iterator>

#include "ir/primitive.h"

namespace braze::ir {
namespace {

// std::lgamma writes the global `signgam`, which two threads must not do.
double lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
float lgamma(float x) {
  int sign = 0;
  return ::lgammaf_r(x, &sign);
}

// Those that libm lacks; in f32 they compute in f64.
namespace special {
using ::j0, ::j1, ::y0, ::y1;
using std::cosh, std::erfc, std::exp, std::expm1, std::fabs, std::floor, std::fma, std::log, std::log1p, std::pow, std::sinh,
    std::sqrt;
#define BRAZE_SPECIAL_FUNCTION(name, ...)                                                        \
  __VA_ARGS__                                                                                    \
  template <class... T>                                                                          \
  float name(float first, T... others) {                                                         \
    return static_cast<float>(name(static_cast<double>(first), static_cast<double>(others)...)); \
  }
#include "ir/special_functions.def"
}  // namespace special

using namespace special;
using std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh, std::asinh, std::acosh,
    std::atanh, std::exp2, std::log2, std::log10, std::erf, std::erfc, std::pow, std::atan2, std::hypot, std::fmod, std::nextafter;

template <int arity, class F1, class F2, class T>
T apply(F1 unary, F2 binary, T a, T b) {
  if constexpr (arity == 1)
    return unary(a);
  else
    return binary(a, b);
}

// A generic lambda is only instantiated for the arity that is called, so each name may stand in both.
#define BRAZE_LIBRARY_FUNCTION(name, arity)                                                               \
  template <class T>                                                                                      \
  T call_##name(T a, T b) {                                                                               \
    return apply<arity>([](auto x) { return name(x); }, [](auto x, auto y) { return name(x, y); }, a, b); \
  }
#include "ir/primitives.def"
#undef BRAZE_LIBRARY_FUNCTION

constexpr LibraryFunctionInfo table[] = {
#define BRAZE_LIBRARY_FUNCTION(name, arity) {#name, #name "f", arity, call_##name<double>, call_##name<float>},
#include "ir/primitives.def"
#undef BRAZE_LIBRARY_FUNCTION
};

}  // namespace

const LibraryFunctionInfo& info(LibraryFunction f) { return table[static_cast<std::size_t>(f)]; }

std::optional<LibraryFunction> library_function_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].name == name) return static_cast<LibraryFunction>(i);
  return std::nullopt;
}

}  // namespace braze::ir
