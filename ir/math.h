// Braze's own mathematics: exp exp2 expm1 log log1p tanh sigmoid, as templates over S (ir/scalar.h), for f32 and f64;
// erf for f32.
//
//  * Branch-free, primitives only, no tables: the same bits on every target, and one vector instruction for each primitive.
//  * f32: at most 1 ULP from the exact result on all 2^32 inputs; f64: at most 1 ULP (`./dev ulp` measures both against MPFR).
//  * Special values are exact: zeros keep their sign, infinities, poles, overflow and gradual underflow are IEEE's, NaN gives
//    NaN.
//
// The polynomials' coefficients are in ir/math_coefficients.h; tests/ulp/coefficients.py derives them.
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "ir/math_coefficients.h"
#include "ir/scalar.h"

namespace braze::ir::math {

// c[0] + c[1] x + c[2] x^2 + ..., by Horner's scheme in fma.
template <AnyScalar S, std::size_t n>
S polynomial(S x, const std::array<ElementOf<S>, n>& c) {
  S sum = literal<S>(c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) sum = fma(sum, x, literal<S>(c[i]));
  return sum;
}

// NaN passes through both.
template <AnyScalar S>
S at_most(S x, ElementOf<S> limit) {
  return select(x > literal<S>(limit), literal<S>(limit), x);
}
template <AnyScalar S>
S at_least(S x, ElementOf<S> limit) {
  return select(x < literal<S>(limit), literal<S>(limit), x);
}

template <Real T>
struct Format;
template <>
struct Format<float> {
  using Bits = std::int32_t;
  static constexpr int mantissa = 23;
  static constexpr Bits one = 0x3f800000, three_quarters = 0x3f400000;
  // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
  static constexpr float magic = 0x1.8p23f;
  static constexpr float log2e = 0x1.715476p0f;
  // high + low is ln 2 to twice the precision; short_high + short_low too, and the multiples of short_high by an exponent are
  // exact.
  static constexpr float high = 0x1.62e43p-1f, low = -0x1.05c61p-29f;
  static constexpr float short_high = 0x1.62e4p-1f, short_low = 0x1.7f7d1cp-20f;
};
template <>
struct Format<double> {
  using Bits = std::int64_t;
  static constexpr int mantissa = 52;
  static constexpr Bits one = 0x3ff0000000000000, three_quarters = 0x3fe8000000000000;
  static constexpr double magic = 0x1.8p52;
  static constexpr double log2e = 0x1.71547652b82fep0;
  static constexpr double high = 0x1.62e42fefa39efp-1, low = 0x1.abc9e3b39803fp-56;
  static constexpr double short_high = 0x1.62e42fefa38p-1, short_low = 0x1.ef35793c7673p-45;
};

template <AnyScalar S>
using FormatOf = Format<ElementOf<S>>;
template <AnyScalar S>
using BitsOf = Same<S, typename FormatOf<S>::Bits>;

// x = n ln 2 + r + tail with |r| <= ln 2 / 2.
template <AnyScalar S>
struct Reduced {
  S n, r, tail;
};

template <AnyScalar S>
Reduced<S> reduce(S x) {
  using F = FormatOf<S>;
  const S n = round_even(x * literal<S>(F::log2e));
  // Exact, because x, n ln 2 and their difference are multiples of one power of two and the difference is the smallest.
  const S difference = fma(n, literal<S>(-F::high), x);
  const S correction = n * literal<S>(F::low), r = difference - correction;
  return {n, r, (difference - r) - correction};
}

// ---- exponentials ----

// Beyond these, e^x is infinite, or less than half of the smallest subnormal.
template <Real T>
inline constexpr T exp_highest = std::same_as<T, float> ? 89 : 710;
template <Real T>
inline constexpr T exp_lowest = std::same_as<T, float> ? -104 : -746;

template <AnyScalar S>
S exp(S x) {
  using T = ElementOf<S>;
  using F = FormatOf<S>;
  const S limited = at_least(at_most(x, exp_highest<T>), exp_lowest<T>);
  const S n = round_even(limited * literal<S>(F::log2e));
  const S r = fma(n, literal<S>(-F::low), fma(n, literal<S>(-F::high), limited));
  return ldexp(polynomial(r, Coefficients<T>::exp), n);
}

template <AnyScalar S>
S exp2(S x) {
  using T = ElementOf<S>;
  constexpr T highest = std::same_as<T, float> ? 129 : 1025, lowest = std::same_as<T, float> ? -151 : -1076;
  const S limited = at_least(at_most(x, highest), lowest);
  const S n = round_even(limited);
  return ldexp(polynomial(limited - n, Coefficients<T>::exp2), n);
}

// e^x - 1 = 2^n ((1 - 2^-n) + r + (tail of r and of the series)); the first sum is kept as high + low.
template <AnyScalar S>
S expm1(S x) {
  using T = ElementOf<S>;
  constexpr T lowest = std::same_as<T, float> ? -20 : -40;  // there the result is -1
  const auto [n, r, tail] = reduce(at_least(at_most(x, exp_highest<T>), lowest));
  const S rest = fma(r * r, polynomial(r, Coefficients<T>::expm1), fma(tail, r, tail));
  const S one = literal<S>(1), scale = ldexp(one, -n), base = one - scale, base_low = (one - base) - scale;
  const S high = base + r, low = (r - (high - base)) + base_low;
  return copysign(ldexp(high + (low + rest), n), x);
}

// ---- logarithms ----

// log(2^e (1 + f + f_low)) for f in [-1/4, 1/2] and an integral e. The sum f + e ln 2 is kept as high + low, and what log(1 + f)
// adds to f is at most a quarter of it.
template <AnyScalar S>
S log_of_parts(S e, S f, std::optional<S> f_low = {}) {
  using T = ElementOf<S>;
  const S multiple = e * literal<S>(FormatOf<S>::short_high), high = multiple + f;
  const S lost = f - (high - multiple);
  const S low = fma(e, literal<S>(FormatOf<S>::short_low), f_low ? lost + *f_low : lost);
  if constexpr (std::same_as<T, float>) return high + fma(f * f, polynomial(f, Coefficients<T>::log), low);
  if constexpr (std::same_as<T, double>) {
    // With s = f / (2 + f), log(1 + f) is 2 atanh(s) = f - f^2/2 + s (f^2/2 + tail): 8 coefficients instead of 20. What is
    // subtracted from f is rounded once, with `low`; its other copy is small.
    const S s = f / (f + literal<S>(2)), z = s * s, half = literal<S>(0.5) * f;
    return high + fma(s, fma(z, polynomial(z, Coefficients<T>::log), half * f), fma(-half, f, low));
  }
}

// An integer below 2^31 in magnitude as S. For f64 by adding it to the bits of 1.5 * 2^52, as AVX2 converts no i64.
template <AnyScalar S>
S small_integer(BitsOf<S> n) {
  if constexpr (std::same_as<ElementOf<S>, float>) return convert<float>(n);
  if constexpr (std::same_as<ElementOf<S>, double>) {
    const S magic = literal<S>(FormatOf<S>::magic);
    return bitcast<double>(n + bitcast<std::int64_t>(magic)) - magic;
  }
}

// The bits of the power of two 2^e, less those of 1, for which positive x is 2^e [3/4, 3/2).
template <AnyScalar S>
BitsOf<S> binade(S x) {
  using F = FormatOf<S>;
  const BitsOf<S> above = bitcast<typename F::Bits>(x) - literal<BitsOf<S>>(F::three_quarters);
  return above & literal<BitsOf<S>>(-(typename F::Bits{1} << F::mantissa));
}

// What a logarithm is where its argument x is negative, zero, infinite or NaN; elsewhere `regular`. `infinite` is x or greater.
template <AnyScalar S>
S with_poles(S argument, S regular, S infinite) {
  using Limits = std::numeric_limits<ElementOf<S>>;
  const S zero = literal<S>(0);
  const S finite = select(infinite <= literal<S>(Limits::max()), regular, infinite);
  return select(argument == zero, literal<S>(-Limits::infinity()),
                select(argument < zero, literal<S>(Limits::quiet_NaN()), finite));
}

template <AnyScalar S>
S log(S x) {
  using F = FormatOf<S>;
  using I = BitsOf<S>;
  constexpr int lift = F::mantissa + 1;
  const BooleanOf<S> subnormal = x < literal<S>(std::numeric_limits<ElementOf<S>>::min());
  const S y = select(subnormal, x * literal<S>(std::ldexp(1.0, lift)), x);
  const I e = binade(y);
  const S f = bitcast<ElementOf<S>>(bitcast<typename F::Bits>(y) - e) - literal<S>(1);
  const I exponent = (e >> literal<I>(F::mantissa)) - select(subnormal, literal<I>(lift), literal<I>(0));
  return with_poles(x, log_of_parts(small_integer<S>(exponent), f), x);
}

// 1 + x is only used to find its power of two 2^e; f = x 2^-e + (2^-e - 1) is exact, but for a few x beside 1/2.
template <AnyScalar S>
S log1p(S x) {
  using F = FormatOf<S>;
  using I = BitsOf<S>;
  using T = ElementOf<S>;
  const S one = literal<S>(1), y = x + one;
  const I e = binade(y), reciprocal = literal<I>(F::one) - e, zero = literal<I>(0);
  const S scaled = bitcast<T>(bitcast<typename F::Bits>(x) - e);
  const S offset = bitcast<T>(select(reciprocal < zero, zero, reciprocal)) - one;
  const S f = scaled + offset, f_low = scaled - (f - offset);
  const S regular = log_of_parts<S>(small_integer<S>(e >> literal<I>(F::mantissa)), f, f_low);
  return with_poles(y, copysign(regular, x), x);  // a zero keeps its sign
}

// ---- tanh, erf, sigmoid ----

// 2^n for the integer n in the low bits of `shifted` = n + Format::magic, if that is a normal number.
template <AnyScalar S>
S power_of_two(S shifted) {
  using F = FormatOf<S>;
  using I = BitsOf<S>;
  const I exponent = bitcast<typename F::Bits>(shifted) << literal<I>(F::mantissa);
  return bitcast<ElementOf<S>>(exponent + literal<I>(F::one));
}

// x + x^3 p(x^2) below 1; above, 1 - 2 / (e^2|x| + 1), where an error of e^2|x| shrinks to a quarter.
template <AnyScalar S>
S tanh(S x) {
  using T = ElementOf<S>;
  using F = FormatOf<S>;
  const S one = literal<S>(1), magic = literal<S>(F::magic), size = abs(x);
  const S limited = at_most(size, T{std::same_as<T, float> ? 10 : 20});  // there the result is 1
  const S shifted = fma(limited, literal<S>(2 * F::log2e), magic), n = shifted - magic;
  const S r = fma(n, literal<S>(-F::low / 2), fma(n, literal<S>(-F::high / 2), limited));
  const S scale = power_of_two(shifted);
  const S sum = fma(r * polynomial(r, Coefficients<T>::tanh_exp), scale, scale + one);  // e^(2 |x|) + 1
  const S large = one - literal<S>(2) / sum;
  const S square = x * x;
  const S small = fma(square * polynomial(square, Coefficients<T>::tanh), size, size);
  return copysign(select(size < one, small, large), x);
}

// f32. x + x p(x^2) where x is small; beyond, 1 - erfc(|x|), where an error of erfc shrinks to a fifth, and erfc(t) = e^(t p(t)).
template <AnyScalar S>
  requires std::same_as<ElementOf<S>, float>
S erf(S x) {
  using F = Format<float>;
  const S one = literal<S>(1), magic = literal<S>(F::magic), size = abs(x);
  const S limited = at_most(size, 4.0f);  // there the result is 1
  const S slope = polynomial(limited, Coefficients<float>::erfc);
  const S shifted = fma(limited * slope, literal<S>(F::log2e), magic), n = shifted - magic;
  const S r = fma(n, literal<S>(-F::short_low), fma(limited, slope, n * literal<S>(-F::short_high)));
  const S large = fma(-polynomial(r, Coefficients<float>::exp), power_of_two(shifted), one);
  const S small = fma(polynomial(x * x, Coefficients<float>::erf), size, size);
  return copysign(select(size < literal<S>(0.925), small, large), x);
}

// f32: 1 / (1 + e^-x) in f64, as both roundings of the short formula are too coarse in f32.
template <AnyScalar S>
  requires std::same_as<ElementOf<S>, float>
S sigmoid(S x) {
  using D = Same<S, double>;
  using F = Format<double>;
  const D limited = convert<double>(at_least(at_most(x, 20.0f), -104.0f));  // there the result is 1, or 0
  const D magic = literal<D>(F::magic), one = literal<D>(1);
  const D shifted = fma(limited, literal<D>(-F::log2e), magic), n = shifted - magic;
  const D r = -fma(n, literal<D>(F::high), limited);
  return convert<float>(one / fma(polynomial(r, Coefficients<float>::sigmoid), power_of_two(shifted), one));
}

// f64: e^-|x| / (1 + e^-|x|) or 1 / (1 + e^-|x|) with e^-|x| as high + low, and the quotient corrected by its remainder.
template <AnyScalar S>
  requires std::same_as<ElementOf<S>, double>
S sigmoid(S x) {
  const S one = literal<S>(1), zero = literal<S>(0);
  const auto [n, r, tail] = reduce(at_least(-abs(x), exp_lowest<double>));
  const S tail_of_series = r * polynomial(r, Coefficients<double>::expm1);
  const S slope = one + tail_of_series, p = fma(slope, r, one), p_low = fma(tail, p, fma(slope, r, one - p));
  const S e = ldexp(p, n), e_low = ldexp(p_low, n);
  const S below = one + e, below_low = (e - (below - one)) + e_low;
  const BooleanOf<S> negative = x < zero;
  const S above = select(negative, e, one), above_low = select(negative, e_low, zero);
  const S quotient = above / below;
  const S error = fma(-quotient, below_low, fma(-quotient, below, above) + above_low);
  return fma(error, select(negative, one - quotient, quotient), quotient);  // 1 / below to a few bits
}

}  // namespace braze::ir::math
