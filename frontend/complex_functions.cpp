// Functions of one complex variable, written on their parts. Formulas that cancel or overflow are avoided as in W. Kahan, "Branch cuts
// for complex elementary functions" (1987); signs of zero choose the side of a cut, as in C99's Annex G.
#include <array>

#include "braze/functions.h"
#include "frontend/complex.h"
#include "ir/op.h"

namespace braze {

namespace {

constexpr double ln2 = 0.693147180559945309417, ln10 = 2.30258509299404568402;

Tensor zero_of(const Tensor& like) { return zeros({}, {like.dtype()}); }
Tensor one_of(const Tensor& like) { return ones({}, {like.dtype()}); }
Parts one_of(const Parts& z) { return {one_of(z.re), zero_of(z.re)}; }

Parts scaled(const Parts& z, double by) { return {z.re * by, z.im * by}; }
Parts times_i(const Parts& z) { return {neg(z.im), z.re}; }
Parts times_minus_i(const Parts& z) { return {z.im, neg(z.re)}; }

// f in double, whose digits and range float's results need none of the cares of.
template <Parts (*f)(const Parts&)>
Parts in_double(const Parts& z) {
  const DType type = z.re.dtype();
  const Parts result = f({z.re.to(DType::f64), z.im.to(DType::f64)});
  return {result.re.to(type), result.im.to(type)};
}

Parts reciprocal_of(const Parts& z) { return one_of(z) / z; }

// log|x + iy|; near the unit circle from the distance to it.
Tensor log_abs(const Tensor& x, const Tensor& y) {
  const Tensor a = abs(x), b = abs(y), size = hypot(x, y);
  const Tensor big = maximum(a, b), small = minimum(a, b);
  const Tensor near = 0.5 * log1p((big - 1) * (big + 1) + small * small);
  return where((size > 0.5) & (size < 2), near, log(size));
}

Parts expm1_of(const Parts& z) {
  const Tensor half = sin(0.5 * z.im);
  return {expm1(z.re) * cos(z.im) - 2 * half * half, exp(z.re) * sin(z.im)};
}

Parts log1p_of(const Parts& z) {
  const Tensor x = z.re, y = z.im;
  const Tensor small = (abs(x) < 0.5) & (abs(y) < 0.5);
  return {where(small, 0.5 * log1p(x * (2 + x) + y * y), log_abs(1 + x, y)), atan2(y, 1 + x)};
}

// 1 with the sign of x, that of a zero too. A size is x * sign_of(x), whose derivative at zero is that of the side which the zero belongs to:
// functions of a complex number have one there, where abs has none and copysign's of a zero is zero.
Tensor sign_of(const Tensor& x) { return copysign(one_of(x), x); }

Parts sqrt_of(const Parts& z) {
  const Tensor x = z.re, y = z.im, side = sign_of(y), size = y * side;
  const Tensor right = x >= 0, endless = isinf(y);
  // Halves before the sum: no overflow. The larger part of the root first, the other one from it.
  const Tensor larger = sqrt(0.5 * where(right, x, -x) + 0.5 * hypot(x, y));
  const Tensor other = where(larger == 0, 0, size / (2 * larger));
  return {where(endless, size, where(right, larger, other)), where(endless, size, where(right, other, larger)) * side};
}

Parts sin_of(const Parts& z) { return {sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im)}; }
Parts cos_of(const Parts& z) { return {cos(z.re) * cosh(z.im), neg(sin(z.re) * sinh(z.im))}; }
Parts sinh_of(const Parts& z) { return {sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)}; }
Parts cosh_of(const Parts& z) { return {cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)}; }

Parts tanh_of(const Parts& z) {
  const Tensor t = tan(z.im), s = sinh(z.re), beta = 1 + t * t, rho = sqrt(1 + s * s), divisor = 1 + beta * s * s;
  // Where sinh^2 would overflow, tanh is one and a trace.
  const Tensor far = abs(z.re) > 20;
  const Tensor trace = 4 * sin(z.im) * cos(z.im) * exp(-2 * abs(z.re));
  return {where(far, copysign(one_of(z.re), z.re), beta * rho * s / divisor), where(far, trace, t / divisor)};
}

Parts tan_of(const Parts& z) { return times_minus_i(tanh_of(times_i(z))); }

Parts asin_of(const Parts& z) {
  const Parts minus = sqrt_of({1 - z.re, neg(z.im)}), plus = sqrt_of({1 + z.re, z.im});
  return {atan2(z.re, minus.re * plus.re - minus.im * plus.im), asinh(minus.re * plus.im - minus.im * plus.re)};
}

Parts acos_of(const Parts& z) {
  const Parts minus = sqrt_of({1 - z.re, neg(z.im)}), plus = sqrt_of({1 + z.re, z.im});
  return {2 * atan2(minus.re, plus.re), asinh(plus.re * minus.im - plus.im * minus.re)};
}

Parts acosh_of(const Parts& z) {
  const Parts minus = sqrt_of({z.re - 1, z.im}), plus = sqrt_of({z.re + 1, z.im});
  return {asinh(minus.re * plus.re + minus.im * plus.im), 2 * atan2(minus.im, plus.re)};
}

Parts atanh_of(const Parts& z) {
  const Tensor x = z.re, y = z.im, side = sign_of(x), size = x * side;
  const Tensor re = 0.25 * log1p(4 * size / ((1 - size) * (1 - size) + y * y));
  return {re * side, 0.5 * atan2(2 * y, (1 - x) * (1 + x) - y * y)};
}

Parts asinh_of(const Parts& z) { return times_minus_i(asin_of(times_i(z))); }
Parts atan_of(const Parts& z) { return times_minus_i(atanh_of(times_i(z))); }
Parts rsqrt_of(const Parts& z) { return reciprocal_of(sqrt_of(z)); }
Parts sigmoid_of(const Parts& z) { return reciprocal_of(one_of(z) + exp(-z)); }
Parts exp2_of(const Parts& z) { return exp(scaled(z, ln2)); }
Parts log2_of(const Parts& z) { return scaled(log(z), 1 / ln2); }
Parts log10_of(const Parts& z) { return scaled(log(z), 1 / ln10); }

struct Entry {
  ir::Op op;
  PartsFunction function;
};

constexpr Entry functions[] = {
    {ir::Op::reciprocal, reciprocal_of},
    {ir::Op::exp, exp},
    {ir::Op::exp2, in_double<exp2_of>},
    {ir::Op::expm1, in_double<expm1_of>},
    {ir::Op::log, log},
    {ir::Op::log2, in_double<log2_of>},
    {ir::Op::log10, in_double<log10_of>},
    {ir::Op::log1p, in_double<log1p_of>},
    {ir::Op::sqrt, sqrt_of},
    {ir::Op::rsqrt, rsqrt_of},
    {ir::Op::sin, sin_of},
    {ir::Op::cos, cos_of},
    {ir::Op::tan, in_double<tan_of>},
    {ir::Op::sinh, sinh_of},
    {ir::Op::cosh, cosh_of},
    {ir::Op::tanh, in_double<tanh_of>},
    {ir::Op::asin, in_double<asin_of>},
    {ir::Op::acos, in_double<acos_of>},
    {ir::Op::atan, in_double<atan_of>},
    {ir::Op::asinh, in_double<asinh_of>},
    {ir::Op::acosh, in_double<acosh_of>},
    {ir::Op::atanh, in_double<atanh_of>},
    {ir::Op::sigmoid, in_double<sigmoid_of>},
};

}  // namespace

Tensor abs(const Parts& z) { return hypot(z.re, z.im); }

// A size of zero is zero whatever the angle, and an angle of zero is kept: no infinity times zero. Kept by a product, which has a derivative.
Parts exp(const Parts& z) {
  const Tensor size = exp(z.re), vanishes = size == 0, level = z.im == 0;
  const Tensor kept = z.im * where(isfinite(size), size, 1);
  return {where(vanishes, 0, size * cos(z.im)), where(vanishes | level, where(level, kept, 0), size * sin(z.im))};
}

Parts log(const Parts& z) { return {log_abs(z.re, z.im), atan2(z.im, z.re)}; }

PartsFunction complex_function(ir::Op op) {
  for (const Entry& entry : functions)
    if (entry.op == op) return entry.function;
  return nullptr;
}

}  // namespace braze
