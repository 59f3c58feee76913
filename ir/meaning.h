// What each elementwise op means: one template an op over S (ir/scalar.h), named as its row in ir/ops.def, with PyTorch's
// results for every dtype that the row accepts. Nothing else in Braze knows what an op computes.
//
//  * Halves compute in f32: the template is instantiated for f32 and whoever calls it converts, and rounds, around it.
//    nextafter alone steps in the half's own grid, so `build` and `evaluate` are told the op's dtype.
//  * Integer division by zero raises Fault::division_by_zero and gives a defined value.
//  * Floats follow IEEE 754; what PyTorch's scalar and vector paths disagree on (the sign of max(+0, -0)) is stated here.
#pragma once

#include <numbers>
#include <span>

#include "ir/math.h"
#include "ir/op.h"
#include "ir/scalar.h"

namespace braze::ir {

// Appends what `op` means for operands of dtype `type` and returns the result. Operands and result are in compute_type(type),
// booleans apart: where's first operand and the result of a `boolean` row. Not for cast, which is the primitive
// `convert`, nor for wrap_index, whose extent is no operand.
ValueId build(Op op, DType type, std::span<const ValueId> operands, InstructionSink& sink);

// The same on raw bits of dtype `type` (boolean for where's first), halves rounded: bits of the result's dtype. A fault is
// stored in `*fault` unless it holds one.
std::uint64_t evaluate(Op op, DType type, std::span<const std::uint64_t> operands, Fault* fault = nullptr);

// cast, on raw bits.
std::uint64_t evaluate_cast(DType from, DType to, std::uint64_t bits);

// How many primitives `build` appends, constants apart; a library call counts 20, a division or square root 4.
int cost(Op op, DType type);

// Whether operands of dtype `type` exist on which `op` fails: a division by zero, an index out of range, what a routine refuses.
bool may_fault(Op op, DType type);

// The dtype of an elementwise op's result.
constexpr DType result_type(Op op, DType type) { return info(op).result == ResultType::boolean ? DType::boolean : type; }

namespace meaning {

// clang-format off: one line an op, where a line holds it
template <class S> concept RealScalar = AnyScalar<S> && Real<ElementOf<S>>;
template <class S> concept IntegerScalar = AnyScalar<S> && Integer<ElementOf<S>>;
template <class S> concept BooleanScalar = AnyScalar<S> && std::same_as<ElementOf<S>, bool>;
template <class S> concept ArithmeticScalar = RealScalar<S> || IntegerScalar<S>;
template <class S> concept SignedScalar = IntegerScalar<S> && std::is_signed_v<ElementOf<S>>;

template <AnyScalar S> S zero() { return literal<S>(0); }
template <AnyScalar S> S one() { return literal<S>(1); }

template <AnyScalar S>
BooleanOf<S> truth(S a) {
  return convert<bool>(a);
}

// ---- signs and rounding ----

template <ArithmeticScalar S> S neg(S a) { return -a; }
template <ArithmeticScalar S> S abs(S a) { return ir::abs(a); }

template <BooleanScalar S> S sign(S a) { return a; }
template <ArithmeticScalar S>
S sign(S a) {  // of NaN: 0; of -0: +0
  const S positive = select(a > zero<S>(), one<S>(), zero<S>());
  if constexpr (std::is_unsigned_v<ElementOf<S>>)
    return positive;
  else
    return select(a < zero<S>(), literal<S>(-1), positive);
}

template <IntegerScalar S> S floor(S a) { return a; }
template <IntegerScalar S> S ceil(S a) { return a; }
template <IntegerScalar S> S trunc(S a) { return a; }
template <IntegerScalar S> S round(S a) { return a; }
template <RealScalar S> S floor(S a) { return ir::floor(a); }
template <RealScalar S> S ceil(S a) { return ir::ceil(a); }
template <RealScalar S> S trunc(S a) { return ir::trunc(a); }
template <RealScalar S> S round(S a) { return round_even(a); }

// ---- exponentials, logarithms, trigonometry ----

template <RealScalar S> S sqrt(S a) { return ir::sqrt(a); }
template <RealScalar S> S rsqrt(S a) { return one<S>() / ir::sqrt(a); }
template <RealScalar S> S reciprocal(S a) { return one<S>() / a; }

template <RealScalar S> S exp(S a) { return math::exp(a); }
template <RealScalar S> S exp2(S a) { return math::exp2(a); }
template <RealScalar S> S expm1(S a) { return math::expm1(a); }
template <RealScalar S> S log(S a) { return math::log(a); }
template <RealScalar S> S log1p(S a) { return math::log1p(a); }
template <RealScalar S> S tanh(S a) { return math::tanh(a); }
template <RealScalar S> S sigmoid(S a) { return math::sigmoid(a); }

template <RealScalar S> S log2(S a) { return call<LibraryFunction::log2>(a); }
template <RealScalar S> S log10(S a) { return call<LibraryFunction::log10>(a); }
template <RealScalar S> S sin(S a) { return call<LibraryFunction::sin>(a); }
template <RealScalar S> S cos(S a) { return call<LibraryFunction::cos>(a); }
template <RealScalar S> S tan(S a) { return call<LibraryFunction::tan>(a); }
template <RealScalar S> S asin(S a) { return call<LibraryFunction::asin>(a); }
template <RealScalar S> S acos(S a) { return call<LibraryFunction::acos>(a); }
template <RealScalar S> S atan(S a) { return call<LibraryFunction::atan>(a); }
template <RealScalar S> S sinh(S a) { return call<LibraryFunction::sinh>(a); }
template <RealScalar S> S cosh(S a) { return call<LibraryFunction::cosh>(a); }
template <RealScalar S> S asinh(S a) { return call<LibraryFunction::asinh>(a); }
template <RealScalar S> S acosh(S a) { return call<LibraryFunction::acosh>(a); }
template <RealScalar S> S atanh(S a) { return call<LibraryFunction::atanh>(a); }
template <RealScalar S>
S erf(S a) {
  if constexpr (std::same_as<ElementOf<S>, float>)
    return math::erf(a);
  else
    return call<LibraryFunction::erf>(a);
}
template <RealScalar S> S erfc(S a) { return call<LibraryFunction::erfc>(a); }
template <RealScalar S> S lgamma(S a) { return call<LibraryFunction::lgamma>(a); }
template <RealScalar S> S atan2(S a, S b) { return call<LibraryFunction::atan2>(a, b); }
template <RealScalar S> S hypot(S a, S b) { return call<LibraryFunction::hypot>(a, b); }

// Winitzki's estimate (within 0.3%), then Halley's method, which cubes the relative error: once for f32, twice for f64. The
// error of a guess x is taken where nothing cancels: erf(x) - |a| below 1/2, (1 - |a|) - erfc(x) above.
template <RealScalar S>
S erfinv(S a) {
  using T = ElementOf<S>;
  constexpr double alpha = 0.147, slope = 2 * std::numbers::inv_sqrtpi;
  const S size = ir::abs(a), complement = one<S>() - size;
  const S logarithm = math::log1p(-(a * a));
  const S t = fma(logarithm, literal<S>(0.5), literal<S>(2 / (std::numbers::pi * alpha)));
  const S u = logarithm * literal<S>(-1 / alpha);
  S x = ir::sqrt(u / (ir::sqrt(fma(t, t, u)) + t));
  for (int i = 0; i < (std::same_as<T, float> ? 1 : 2); ++i) {
    const S error = select(size < literal<S>(0.5), erf(x) - size, complement - erfc(x));
    const S newton = error / (literal<S>(slope) * math::exp(-(x * x)));
    x = x - newton / fma(x, newton, one<S>());
  }
  const S infinity = literal<S>(std::numeric_limits<T>::infinity());
  return ir::copysign(select(size == one<S>(), infinity, x), a);
}

template <RealScalar S> S digamma(S a);

// Recurrence up to 10, the asymptotic series there, and the reflection for negative arguments, as PyTorch has it; poles give
// NaN, zeros the infinity of the opposite sign.
template <RealScalar S>
  requires std::same_as<ElementOf<S>, double>
S digamma(S a) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  // B(2k) / 2k, signs alternating
  constexpr std::array<double, 7> series = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const BooleanOf<S> reflected = a < zero<S>();
  S x = select(reflected, one<S>() - a, a), sum = zero<S>();
  for (int i = 0; i < 10; ++i) {
    const BooleanOf<S> small = x < literal<S>(10);
    sum = select(small, sum - one<S>() / x, sum);
    x = select(small, x + one<S>(), x);
  }
  const S inverse = one<S>() / (x * x);
  const S tail = fma(inverse, math::polynomial(inverse, series), literal<S>(0.5) / x);
  const S regular = sum + math::log(x) - tail;
  const S whole = ir::trunc(a), pi = literal<S>(std::numbers::pi);
  const S reflection = regular - pi / tan(pi * (a - whole));
  const S at_negative = select(a == whole, literal<S>(nan), reflection);
  return select(a == zero<S>(), ir::copysign(literal<S>(infinity), -a), select(reflected, at_negative, regular));
}
template <RealScalar S>
  requires std::same_as<ElementOf<S>, float>
S digamma(S a) {  // the recurrence loses too much in f32
  return convert<float>(digamma(convert<double>(a)));
}

// ---- logic, bits, classification ----

template <AnyScalar S> BooleanOf<S> logical_not(S a) { return !truth(a); }
template <AnyScalar S> BooleanOf<S> logical_and(S a, S b) { return truth(a) & truth(b); }
template <AnyScalar S> BooleanOf<S> logical_or(S a, S b) { return truth(a) | truth(b); }
template <AnyScalar S> BooleanOf<S> logical_xor(S a, S b) { return truth(a) ^ truth(b); }

template <BooleanScalar S> S bitwise_not(S a) { return !a; }
template <IntegerScalar S> S bitwise_not(S a) { return a ^ literal<S>(-1); }
template <AnyScalar S> S bitwise_and(S a, S b) { return a & b; }
template <AnyScalar S> S bitwise_or(S a, S b) { return a | b; }
template <AnyScalar S> S bitwise_xor(S a, S b) { return a ^ b; }

template <IntegerScalar S> S shift_left(S a, S b) { return a << b; }
template <IntegerScalar S> S shift_right(S a, S b) { return a >> b; }
template <BooleanScalar S> S shift_left(S a, S b) { return a & !b; }  // of one bit: a count of 1 leaves nothing
template <BooleanScalar S> S shift_right(S a, S b) { return a & !b; }

template <AnyScalar S>
BooleanOf<S> isnan(S a) {
  if constexpr (RealScalar<S>) return is_nan(a);
  else return literal<BooleanOf<S>>(false);
}
template <AnyScalar S>
BooleanOf<S> isinf(S a) {
  if constexpr (RealScalar<S>) return ir::abs(a) == literal<S>(std::numeric_limits<ElementOf<S>>::infinity());
  else return literal<BooleanOf<S>>(false);
}
template <AnyScalar S>
BooleanOf<S> isfinite(S a) {
  if constexpr (RealScalar<S>) return ir::abs(a) <= literal<S>(std::numeric_limits<ElementOf<S>>::max());
  else return literal<BooleanOf<S>>(true);
}
template <AnyScalar S>
BooleanOf<S> signbit(S a) {
  using I = std::conditional_t<sizeof(ElementOf<S>) == 4, std::int32_t, std::int64_t>;
  if constexpr (RealScalar<S>) return bitcast<I>(a) < literal<Same<S, I>>(0);
  else if constexpr (SignedScalar<S>) return a < zero<S>();
  else return literal<BooleanOf<S>>(false);
}

// ---- arithmetic ----

template <ArithmeticScalar S> S add(S a, S b) { return a + b; }
template <ArithmeticScalar S> S sub(S a, S b) { return a - b; }
template <ArithmeticScalar S> S mul(S a, S b) { return a * b; }
template <BooleanScalar S> S add(S a, S b) { return a | b; }
template <BooleanScalar S> S mul(S a, S b) { return a & b; }
template <RealScalar S> S div(S a, S b) { return a / b; }
template <RealScalar S> S fma(S a, S b, S c) { return ir::fma(a, b, c); }

template <IntegerScalar S>
void check_divisor(S b) {
  check(b == zero<S>(), Fault::division_by_zero);
}

// Whether a division whose remainder is r was not exact and rounded up, so that its floor is one less.
template <IntegerScalar S>
BooleanOf<S> rounded_up(S r, S divisor) {
  if constexpr (SignedScalar<S>) return (r != zero<S>()) & ((r ^ divisor) < zero<S>());
  else return literal<BooleanOf<S>>(false);
}
template <RealScalar S>
BooleanOf<S> rounded_up(S r, S divisor) {
  return (r != zero<S>()) & ((divisor < zero<S>()) ^ (r < zero<S>()));
}

template <IntegerScalar S>
S trunc_divide(S a, S b) {
  check_divisor(b);
  return quo(a, b);
}
template <RealScalar S> S trunc_divide(S a, S b) { return ir::trunc(a / b); }

template <IntegerScalar S>
S fmod(S a, S b) {
  check_divisor(b);
  return rem(a, b);
}
template <RealScalar S> S fmod(S a, S b) { return call<LibraryFunction::fmod>(a, b); }

template <AnyScalar S>
S remainder(S a, S b) {
  const S r = fmod(a, b);
  return select(rounded_up(r, b), r + b, r);
}

template <IntegerScalar S>
S floor_divide(S a, S b) {
  check_divisor(b);
  const S q = quo(a, b);
  return select(rounded_up(rem(a, b), b), q - one<S>(), q);
}
template <RealScalar S>
S floor_divide(S a, S b) {  // Python's: (a - remainder) / b, put right where its rounding missed the integer
  const S r = fmod(a, b), exact = (a - r) / b;
  const S q = select(rounded_up(r, b), exact - one<S>(), exact);
  const S whole = ir::floor(q), nearest = select(q - whole > literal<S>(0.5), whole + one<S>(), whole);
  const S quotient = a / b;
  return select(b == zero<S>(), quotient, select(q == zero<S>(), ir::copysign(zero<S>(), quotient), nearest));
}

template <RealScalar S> S pow(S a, S b) { return call<LibraryFunction::pow>(a, b); }

// Repeated squaring, wrapping. To a negative exponent 1 and -1 have their powers and all else is 0.
template <IntegerScalar S>
S pow(S a, S b) {
  const S nothing = zero<S>(), unit = one<S>();
  constexpr int bits = static_cast<int>(sizeof(ElementOf<S>)) * 8 - (SignedScalar<S> ? 1 : 0);
  S result = unit, square = a;
  for (int i = 0; i < bits; ++i) {
    const S bit = b & literal<S>(std::int64_t{1} << i);
    result = select(bit != nothing, result * square, result);
    if (i + 1 < bits) square = square * square;
  }
  if constexpr (SignedScalar<S>) {
    const S minus = literal<S>(-1), alternating = select((b & unit) != nothing, minus, unit);
    const S inverse = select(a == unit, unit, select(a == minus, alternating, nothing));
    return select(b < nothing, inverse, result);
  } else {
    return result;
  }
}

template <RealScalar S> S copysign(S a, S b) { return ir::copysign(a, b); }
template <RealScalar S> S nextafter(S a, S b) { return call<LibraryFunction::nextafter>(a, b); }

// PyTorch's a * 2^b, in two roundings and for any real b.
template <RealScalar S> S ldexp(S a, S b) { return a * math::exp2(b); }

template <RealScalar S> S zeta(S a, S b) { return call<LibraryFunction::zeta>(a, b); }
template <RealScalar S> S gammainc(S a, S b) { return call<LibraryFunction::gammainc>(a, b); }
template <RealScalar S> S gammaincc(S a, S b) { return call<LibraryFunction::gammaincc>(a, b); }
template <RealScalar S> S i0(S a) { return call<LibraryFunction::i0>(a); }
template <RealScalar S> S i0e(S a) { return call<LibraryFunction::i0e>(a); }
template <RealScalar S> S i1(S a) { return call<LibraryFunction::i1>(a); }
template <RealScalar S> S i1e(S a) { return call<LibraryFunction::i1e>(a); }
template <RealScalar S> S erfcx(S a) { return call<LibraryFunction::erfcx>(a); }
template <RealScalar S> S ndtri(S a) { return call<LibraryFunction::ndtri>(a); }
template <RealScalar S> S bessel_j0(S a) { return call<LibraryFunction::bessel_j0>(a); }
template <RealScalar S> S bessel_j1(S a) { return call<LibraryFunction::bessel_j1>(a); }
template <RealScalar S> S bessel_y0(S a) { return call<LibraryFunction::bessel_y0>(a); }
template <RealScalar S> S bessel_y1(S a) { return call<LibraryFunction::bessel_y1>(a); }
template <RealScalar S> S scaled_modified_bessel_k0(S a) { return call<LibraryFunction::scaled_modified_bessel_k0>(a); }
template <RealScalar S> S scaled_modified_bessel_k1(S a) { return call<LibraryFunction::scaled_modified_bessel_k1>(a); }

// a = mantissa * 2^exponent; a subnormal is lifted first.
template <RealScalar S>
struct Parts {
  S exponent, mantissa;
  BooleanOf<S> none;  // zero, infinite, NaN
};

template <RealScalar S>
Parts<S> parts(S a) {
  using T = ElementOf<S>;
  using F = math::FormatOf<S>;
  using I = math::BitsOf<S>;
  constexpr int lift = F::mantissa + 1, bias = std::numeric_limits<T>::max_exponent - 2;  // of a mantissa in [1/2, 1)
  constexpr auto mask = typename F::Bits{2 * std::numeric_limits<T>::max_exponent - 1} << F::mantissa;
  const BooleanOf<S> subnormal = ir::abs(a) < literal<S>(std::numeric_limits<T>::min());
  const S lifted = select(subnormal, a * literal<S>(std::ldexp(1.0, lift)), a);
  const I bits = bitcast<typename F::Bits>(lifted), field = bits & literal<I>(mask);
  const I half = literal<I>(typename F::Bits{bias} << F::mantissa);
  const S mantissa = bitcast<T>((bits ^ field) | half);
  const I offset = select(subnormal, literal<I>(bias + lift), literal<I>(bias));
  const S exponent = math::small_integer<S>((field >> literal<I>(F::mantissa)) - offset);
  return {exponent, mantissa, (a == zero<S>()) | !(ir::abs(a) <= literal<S>(std::numeric_limits<T>::max()))};
}

template <RealScalar S>
S frexp_mantissa(S a) {
  const Parts<S> p = parts(a);
  return select(p.none, a, p.mantissa);
}
template <RealScalar S>
S frexp_exponent(S a) {
  const Parts<S> p = parts(a);
  return select(p.none, zero<S>(), p.exponent);
}

// Stein's algorithm, each step of which shortens one number or both by a bit: halve what is even, else the difference.
template <IntegerScalar S>
S greatest_divisor(S a, S b) {
  constexpr int bits = static_cast<int>(sizeof(ElementOf<S>)) * 8 - (SignedScalar<S> ? 1 : 0);
  const S unit = one<S>(), nothing = zero<S>();
  S x = a, y = b, twos = nothing;
  if constexpr (SignedScalar<S>) x = ir::abs(a), y = ir::abs(b);
  for (int i = 0; i < 2 * bits; ++i) {
    const BooleanOf<S> x_even = (x & unit) == nothing, y_even = (y & unit) == nothing, x_larger = y < x;
    const BooleanOf<S> both_odd = !(x_even | y_even);
    twos = twos + select(x_even & y_even, unit, nothing);
    const S larger = select(x_larger, x, y), smaller = select(x_larger, y, x);
    const S next_x = select(both_odd, larger - smaller, x), next_y = select(both_odd, smaller, y);
    x = select(x_even | both_odd, next_x >> unit, next_x);
    y = select(y_even, next_y >> unit, next_y);
  }
  return (x | y) << twos;
}
template <BooleanScalar S> S greatest_divisor(S a, S b) { return a | b; }

// The next number after `a` towards `b` in half format H; both hold numbers of H, in f32.
template <Half H, RealScalar S>
S nextafter_half(S a, S b) {
  using I = Same<S, std::int16_t>;
  const I bits = bitcast<std::int16_t>(convert<H>(a)), unit = one<I>(), minus = literal<I>(-1);
  const BooleanOf<S> outwards = (a < b) ^ (a < zero<S>());
  const I stepped = bits + select(outwards, unit, minus);
  const I least = select(b < zero<S>(), literal<I>(-0x7fff), unit);  // from either zero: the smallest subnormal towards b
  const S moved = convert<float>(bitcast<H>(select(a == zero<S>(), least, stepped)));
  return select(is_nan(a) | is_nan(b), a + b, select(a == b, b, moved));
}

// ---- comparisons, extremes ----

template <AnyScalar S> BooleanOf<S> eq(S a, S b) { return a == b; }
template <AnyScalar S> BooleanOf<S> ne(S a, S b) { return a != b; }
template <ArithmeticScalar S> BooleanOf<S> lt(S a, S b) { return a < b; }
template <ArithmeticScalar S> BooleanOf<S> le(S a, S b) { return a <= b; }
template <ArithmeticScalar S> BooleanOf<S> gt(S a, S b) { return a > b; }
template <ArithmeticScalar S> BooleanOf<S> ge(S a, S b) { return a >= b; }
template <BooleanScalar S> S lt(S a, S b) { return b & !a; }
template <BooleanScalar S> S le(S a, S b) { return b | !a; }
template <BooleanScalar S> S gt(S a, S b) { return a & !b; }
template <BooleanScalar S> S ge(S a, S b) { return a | !b; }

// NaN propagates, of two the first. Of equals the second, as `maxps` and PyTorch's vectors have it: max(+0, -0) is -0.
template <ArithmeticScalar S>
S maximum(S a, S b) {
  const S larger = select(a > b, a, b);
  if constexpr (RealScalar<S>) return select(is_nan(a), a, larger);
  else return larger;
}
template <ArithmeticScalar S>
S minimum(S a, S b) {
  const S smaller = select(a < b, a, b);
  if constexpr (RealScalar<S>) return select(is_nan(a), a, smaller);
  else return smaller;
}
template <BooleanScalar S> S maximum(S a, S b) { return a | b; }
template <BooleanScalar S> S minimum(S a, S b) { return a & b; }

// A NaN loses to a number.
template <AnyScalar S>
S fmax(S a, S b) {
  if constexpr (RealScalar<S>) return select(is_nan(a), b, select(a < b, b, a));
  else return maximum(a, b);
}
template <AnyScalar S>
S fmin(S a, S b) {
  if constexpr (RealScalar<S>) return select(is_nan(a), b, select(b < a, b, a));
  else return minimum(a, b);
}

template <AnyScalar S>
S where(BooleanOf<S> condition, S a, S b) {
  return select(condition, a, b);
}

// clang-format on

}  // namespace meaning
}  // namespace braze::ir
