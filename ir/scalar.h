// Scalar code, written once: a template over S is run by S = Number<T> and built by S = Scalar<T>.
//
// `Number<T>` holds a value and computes on the spot: it is the interpreter, and the oracle of every back end. `Scalar<T>`
// holds the ValueId of an instruction that it appended to the sink of the innermost `Emitting`. Both are typed: a comparison
// gives `Same<S, bool>`, and `convert<U>`, `bitcast<U>` change the element. What `PrimitiveMeaning<P>` says below is the law of
// primitive P on every target (NaN payloads excepted), and has no undefined behaviour:
//  * Conversions between integers keep the low bits; to boolean they ask `!= 0`, so that NaN is true.
//  * Float to i32: truncated; NaN and what does not fit give INT32_MIN (`cvttss2si`). To i64: truncated; NaN and what does not
//    fit give INT64_MIN. To i8 and i16: through i32, then the low bits. To u8: through i64, then the low bits, as PyTorch does
//    (from f32 or the halves the way through i32 gives the same bits, since beyond 2^31 they are multiples of 256).
//  * Integers and f64 become halves through f32, halves become anything through f32, i64 rounds once to f32 or f64.
//  * ldexp rounds once; its count is clamped to +-5000, and a NaN count gives NaN. fma rounds once.
//  * In raw bits (evaluate, Instruction::payload) a value lies in the low bits and the rest is zero; a boolean is 0 or 1.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/half.h"
#include "ir/primitive.h"

namespace braze::ir {

// ---- element types ----

// clang-format off: tables, one line a row
template <class T> inline constexpr DType dtype_of = DType{};
template <> inline constexpr DType dtype_of<bool> = DType::boolean;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <> inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <> inline constexpr DType dtype_of<std::int16_t> = DType::i16;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <> inline constexpr DType dtype_of<Float16> = DType::f16;
template <> inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <> inline constexpr DType dtype_of<float> = DType::f32;
template <> inline constexpr DType dtype_of<double> = DType::f64;

template <class T> concept Real = std::same_as<T, float> || std::same_as<T, double>;
template <class T> concept Half = std::same_as<T, Float16> || std::same_as<T, BFloat16>;
template <class T> concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T> concept Arithmetic = Real<T> || Integer<T>;
template <class T> concept Bits = std::integral<T>;  // integers and boolean
template <class T> concept Element = Arithmetic<T> || Half<T> || std::same_as<T, bool>;

// clang-format on

// Calls f(std::type_identity<T>{}) with the T of `type`.
template <class F>
decltype(auto) with_type(DType type, F&& f) {
  switch (type) {
    case DType::boolean:
      return f(std::type_identity<bool>{});
    case DType::u8:
      return f(std::type_identity<std::uint8_t>{});
    case DType::i8:
      return f(std::type_identity<std::int8_t>{});
    case DType::i16:
      return f(std::type_identity<std::int16_t>{});
    case DType::i32:
      return f(std::type_identity<std::int32_t>{});
    case DType::i64:
      return f(std::type_identity<std::int64_t>{});
    case DType::f16:
      return f(std::type_identity<Float16>{});
    case DType::bf16:
      return f(std::type_identity<BFloat16>{});
    case DType::f32:
      return f(std::type_identity<float>{});
    case DType::f64:
      break;
  }
  return f(std::type_identity<double>{});
}

template <Element T>
constexpr std::uint64_t to_bits(T value) {
  if constexpr (std::same_as<T, bool>)
    return value ? 1 : 0;
  else if constexpr (Half<T>)
    return value.bits;
  else if constexpr (std::same_as<T, float>)
    return std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::same_as<T, double>)
    return std::bit_cast<std::uint64_t>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

template <Element T>
constexpr T from_bits(std::uint64_t bits) {
  if constexpr (std::same_as<T, bool>)
    return (bits & 1) != 0;
  else if constexpr (Half<T>)
    return T{static_cast<std::uint16_t>(bits)};
  else if constexpr (std::same_as<T, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::same_as<T, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(bits));
}

// ---- what each primitive computes ----

template <Primitive P>
struct PrimitiveMeaning;

namespace detail {

// Wrapping arithmetic: unsigned, and wide enough that no promotion to int overflows.
template <Integer T>
constexpr std::uint64_t wide(T a) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(a));
}
template <Integer T>
constexpr T narrow(std::uint64_t a) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a));
}

template <Integer T>
inline constexpr int bit_count = static_cast<int>(sizeof(T)) * 8;

template <std::signed_integral I, Real F>
constexpr I truncate(F a) {
  constexpr F limit = -static_cast<F>(std::numeric_limits<I>::min());  // 2^31 or 2^63, exact
  return a >= -limit && a < limit ? static_cast<I>(a) : std::numeric_limits<I>::min();
}

template <Element U, Element T>
constexpr U convert(T a) {
  if constexpr (std::same_as<U, T>) {
    return a;
  } else if constexpr (Half<T>) {
    return convert<U>(to_f32(a));
  } else if constexpr (std::same_as<U, bool>) {
    return a != T{};
  } else if constexpr (std::same_as<U, Float16>) {
    return to_f16(convert<float>(a));
  } else if constexpr (std::same_as<U, BFloat16>) {
    return to_bf16(convert<float>(a));
  } else if constexpr (Real<T> && Integer<U>) {
    if constexpr (std::same_as<U, std::uint8_t> || std::same_as<U, std::int64_t>)
      return static_cast<U>(truncate<std::int64_t>(a));
    else
      return static_cast<U>(truncate<std::int32_t>(a));
  } else {
    return static_cast<U>(a);
  }
}

// std::ldexp; where numbers stay normal, an addition to the exponent's bits, which is some five times faster.
template <Real F>
F scale(F a, int n) {
  using I = std::conditional_t<sizeof(F) == 4, std::int32_t, std::int64_t>;
  constexpr int mantissa = std::numeric_limits<F>::digits - 1, special = 2 * std::numeric_limits<F>::max_exponent - 1;
  const I bits = std::bit_cast<I>(a);
  const int exponent = static_cast<int>(bits >> mantissa) & special, scaled = exponent + n;
  if (exponent == 0 || exponent == special || scaled <= 0 || scaled >= special) return std::ldexp(a, n);
  return std::bit_cast<F>(bits + I{n} * (I{1} << mantissa));
}

}  // namespace detail

// clang-format off: one line a primitive
#define BRAZE_COMPUTE(primitive, signature, ...)     \
  template <> struct PrimitiveMeaning<Primitive::primitive> { \
    static signature { __VA_ARGS__ }                 \
  };

BRAZE_COMPUTE(add, auto apply(Arithmetic auto a, decltype(a) b),
  using T = decltype(a);
  if constexpr (Real<T>) return a + b; else return detail::narrow<T>(detail::wide(a) + detail::wide(b));)
BRAZE_COMPUTE(sub, auto apply(Arithmetic auto a, decltype(a) b),
  using T = decltype(a);
  if constexpr (Real<T>) return a - b; else return detail::narrow<T>(detail::wide(a) - detail::wide(b));)
BRAZE_COMPUTE(mul, auto apply(Arithmetic auto a, decltype(a) b),
  using T = decltype(a);
  if constexpr (Real<T>) return a * b; else return detail::narrow<T>(detail::wide(a) * detail::wide(b));)
BRAZE_COMPUTE(neg, auto apply(Arithmetic auto a),
  using T = decltype(a);
  if constexpr (Real<T>) return -a; else return detail::narrow<T>(0 - detail::wide(a));)
BRAZE_COMPUTE(abs, auto apply(Arithmetic auto a),
  using T = decltype(a);
  if constexpr (Real<T>) return std::fabs(a); else return a < 0 ? PrimitiveMeaning<Primitive::neg>::apply(a) : a;)

BRAZE_COMPUTE(div, auto apply(Real auto a, decltype(a) b), return a / b;)
BRAZE_COMPUTE(fma, auto apply(Real auto a, decltype(a) b, decltype(a) c), return std::fma(a, b, c);)
BRAZE_COMPUTE(sqrt, auto apply(Real auto a), return std::sqrt(a);)
BRAZE_COMPUTE(copysign, auto apply(Real auto a, decltype(a) b), return std::copysign(a, b);)
BRAZE_COMPUTE(floor, auto apply(Real auto a), return std::floor(a);)
BRAZE_COMPUTE(ceil, auto apply(Real auto a), return std::ceil(a);)
BRAZE_COMPUTE(trunc, auto apply(Real auto a), return std::trunc(a);)
BRAZE_COMPUTE(round_even, auto apply(Real auto a), return std::rint(a);)
BRAZE_COMPUTE(ldexp, auto apply(Real auto a, decltype(a) b),
  if (b != b) return a + b;
  return detail::scale(a, static_cast<int>(b > 5000 ? 5000 : b < -5000 ? -5000 : b));)

BRAZE_COMPUTE(quo, auto apply(Integer auto a, decltype(a) b),
  using T = decltype(a);
  if (b == 0) return T{0};
  if constexpr (std::is_signed_v<T>) if (b == -1) return PrimitiveMeaning<Primitive::neg>::apply(a);
  return static_cast<T>(a / b);)
BRAZE_COMPUTE(rem, auto apply(Integer auto a, decltype(a) b),
  using T = decltype(a);
  if (b == 0) return T{0};
  if constexpr (std::is_signed_v<T>) if (b == -1) return T{0};
  return static_cast<T>(a % b);)
BRAZE_COMPUTE(shl, auto apply(Integer auto a, decltype(a) b),
  using T = decltype(a);
  return b < 0 || b >= detail::bit_count<T> ? T{0} : detail::narrow<T>(detail::wide(a) << b);)
BRAZE_COMPUTE(shr, auto apply(Integer auto a, decltype(a) b),
  using T = decltype(a);
  return b < 0 || b >= detail::bit_count<T> ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);)
BRAZE_COMPUTE(bit_and, auto apply(Bits auto a, decltype(a) b), return static_cast<decltype(a)>(a & b);)
BRAZE_COMPUTE(bit_or, auto apply(Bits auto a, decltype(a) b), return static_cast<decltype(a)>(a | b);)
BRAZE_COMPUTE(bit_xor, auto apply(Bits auto a, decltype(a) b), return static_cast<decltype(a)>(a ^ b);)

template <class T> concept Comparable = Arithmetic<T> || std::same_as<T, bool>;
BRAZE_COMPUTE(eq, bool apply(Comparable auto a, decltype(a) b), return a == b;)
BRAZE_COMPUTE(ne, bool apply(Comparable auto a, decltype(a) b), return a != b;)
BRAZE_COMPUTE(lt, bool apply(Arithmetic auto a, decltype(a) b), return a < b;)
BRAZE_COMPUTE(le, bool apply(Arithmetic auto a, decltype(a) b), return a <= b;)
BRAZE_COMPUTE(select, auto apply(bool c, Element auto a, decltype(a) b), return c ? a : b;)

// clang-format on

#undef BRAZE_COMPUTE

// One instruction on raw bits, exactly as Number<T> computes it. A `check` whose operand is true stores its fault in
// `*fault` unless one is there already.
using Evaluator = std::uint64_t (*)(const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t c, Fault* fault);

// The function for an instruction's op and types, to be looked up once and called often. An instruction whose op does not
// apply to its types breaks an invariant.
Evaluator evaluator(const Instruction&);

inline std::uint64_t evaluate(const Instruction& instruction, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                              Fault* fault = nullptr) {
  return evaluator(instruction)(instruction, a, b, c, fault);
}

// ---- Number: computes ----

template <Element T>
struct Number {
  using Value = T;
  T value{};
};

// Where checks that Numbers evaluate leave the first fault; Faults clears it and reads it.
class Faults {
 public:
  Faults() : outer_(first_) { first_ = Fault::none; }
  ~Faults() { first_ = outer_; }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  Fault first() const { return first_; }
  static void raise(Fault f) {
    if (first_ == Fault::none) first_ = f;
  }

 private:
  static inline thread_local Fault first_ = Fault::none;
  Fault outer_;
};

// ---- Scalar: appends ----

// Directs the Scalars of this thread to a sink, for its lifetime.
class Emitting {
 public:
  explicit Emitting(InstructionSink& sink) : outer_(current_) { current_ = &sink; }
  ~Emitting() { current_ = outer_; }
  Emitting(const Emitting&) = delete;
  Emitting& operator=(const Emitting&) = delete;

  static ValueId append(const Instruction& instruction) { return current_->append(instruction); }

 private:
  static inline thread_local InstructionSink* current_ = nullptr;
  InstructionSink* outer_;
};

template <Element T>
struct Scalar {
  using Value = T;
  ValueId id = no_value;
};

// ---- what a template over S uses ----

template <class S>
struct IsScalar : std::false_type {};
template <class T>
struct IsScalar<Number<T>> : std::true_type {};
template <class T>
struct IsScalar<Scalar<T>> : std::true_type {};
template <class S>
concept AnyScalar = IsScalar<S>::value;

template <AnyScalar S>
using ElementOf = typename S::Value;

// The sibling of S with elements U: Same<Number<float>, bool> is Number<bool>.
template <class S, class U>
struct Sibling;
template <class T, class U>
struct Sibling<Number<T>, U> {
  using type = Number<U>;
};
template <class T, class U>
struct Sibling<Scalar<T>, U> {
  using type = Scalar<U>;
};
template <AnyScalar S, Element U>
using Same = typename Sibling<S, U>::type;
template <AnyScalar S>
using BooleanOf = Same<S, bool>;

namespace detail {

template <Primitive P, class R, class... T>
Number<R> emit(Number<T>... operands) {
  return {PrimitiveMeaning<P>::apply(operands.value...)};
}

// `from` is set where the operands' type is not the result's: in comparisons and conversions.
template <class R, class... T>
Scalar<R> append(Primitive p, DType from, std::uint64_t payload, Scalar<T>... operands) {
  Instruction instruction{.op = p, .type = dtype_of<R>, .from = from, .payload = payload};
  std::size_t i = 0;
  ((instruction.in[i++] = operands.id), ...);
  return {Emitting::append(instruction)};
}

template <Primitive P, class R, class T, class... U>
Scalar<R> emit(Scalar<T> first, Scalar<U>... others) {
  constexpr bool compares = P == Primitive::eq || P == Primitive::ne || P == Primitive::lt || P == Primitive::le;
  return append<R>(P, compares ? dtype_of<T> : DType{}, 0, first, others...);
}

}  // namespace detail

#define BRAZE_SCALAR_UNARY(name, primitive, accepts) \
  template <AnyScalar S>                             \
    requires accepts<ElementOf<S>>                   \
  S name(S a) {                                      \
    return detail::emit<primitive, ElementOf<S>>(a); \
  }
#define BRAZE_SCALAR_BINARY(name, primitive, accepts)   \
  template <AnyScalar S>                                \
    requires accepts<ElementOf<S>>                      \
  S name(S a, S b) {                                    \
    return detail::emit<primitive, ElementOf<S>>(a, b); \
  }
#define BRAZE_SCALAR_COMPARE(name, primitive, accepts) \
  template <AnyScalar S>                               \
    requires accepts<ElementOf<S>>                     \
  BooleanOf<S> name(S a, S b) {                        \
    return detail::emit<primitive, bool>(a, b);        \
  }

BRAZE_SCALAR_BINARY(operator+, Primitive::add, Arithmetic)
BRAZE_SCALAR_BINARY(operator-, Primitive::sub, Arithmetic)
BRAZE_SCALAR_BINARY(operator*, Primitive::mul, Arithmetic)
BRAZE_SCALAR_BINARY(operator/, Primitive::div, Real)
BRAZE_SCALAR_UNARY(operator-, Primitive::neg, Arithmetic)
BRAZE_SCALAR_UNARY(abs, Primitive::abs, Arithmetic)
BRAZE_SCALAR_UNARY(sqrt, Primitive::sqrt, Real)
BRAZE_SCALAR_UNARY(floor, Primitive::floor, Real)
BRAZE_SCALAR_UNARY(ceil, Primitive::ceil, Real)
BRAZE_SCALAR_UNARY(trunc, Primitive::trunc, Real)
BRAZE_SCALAR_UNARY(round_even, Primitive::round_even, Real)
BRAZE_SCALAR_BINARY(copysign, Primitive::copysign, Real)
BRAZE_SCALAR_BINARY(ldexp, Primitive::ldexp, Real)
BRAZE_SCALAR_BINARY(quo, Primitive::quo, Integer)
BRAZE_SCALAR_BINARY(rem, Primitive::rem, Integer)
BRAZE_SCALAR_BINARY(operator<<, Primitive::shl, Integer)
BRAZE_SCALAR_BINARY(operator>>, Primitive::shr, Integer)
BRAZE_SCALAR_BINARY(operator&, Primitive::bit_and, Bits)
BRAZE_SCALAR_BINARY(operator|, Primitive::bit_or, Bits)
BRAZE_SCALAR_BINARY(operator^, Primitive::bit_xor, Bits)
BRAZE_SCALAR_COMPARE(operator==, Primitive::eq, Comparable)
BRAZE_SCALAR_COMPARE(operator!=, Primitive::ne, Comparable)
BRAZE_SCALAR_COMPARE(operator<, Primitive::lt, Arithmetic)
BRAZE_SCALAR_COMPARE(operator<=, Primitive::le, Arithmetic)

#undef BRAZE_SCALAR_UNARY
#undef BRAZE_SCALAR_BINARY
#undef BRAZE_SCALAR_COMPARE

template <AnyScalar S>
BooleanOf<S> operator>(S a, S b) {
  return b < a;
}
template <AnyScalar S>
BooleanOf<S> operator>=(S a, S b) {
  return b <= a;
}

template <AnyScalar S>
  requires Real<ElementOf<S>>
S fma(S a, S b, S c) {
  return detail::emit<Primitive::fma, ElementOf<S>>(a, b, c);
}

template <AnyScalar S>
S select(BooleanOf<S> condition, S a, S b) {
  return detail::emit<Primitive::select, ElementOf<S>>(condition, a, b);
}

template <Element U, Element T>
Number<U> convert(Number<T> a) {
  return {detail::convert<U>(a.value)};
}
template <Element U, Element T>
Scalar<U> convert(Scalar<T> a) {
  if constexpr (std::same_as<U, T>)
    return a;
  else
    return detail::append<U>(Primitive::convert, dtype_of<T>, 0, a);
}

template <Element U, Element T>
  requires(sizeof(U) == sizeof(T))
Number<U> bitcast(Number<T> a) {
  return {from_bits<U>(to_bits(a.value))};
}
template <Element U, Element T>
  requires(sizeof(U) == sizeof(T))
Scalar<U> bitcast(Scalar<T> a) {
  return detail::append<U>(Primitive::bitcast, dtype_of<T>, 0, a);
}

// The constant `value` in S's element type: a double or an integer, rounded once.
template <AnyScalar S, class V>
  requires std::is_arithmetic_v<V>
S literal(V value) {
  const ElementOf<S> element = detail::convert<ElementOf<S>>(value);
  if constexpr (std::same_as<S, Number<ElementOf<S>>>)
    return {element};
  else
    return {Emitting::append({.op = Primitive::constant, .type = dtype_of<ElementOf<S>>, .payload = to_bits(element)})};
}

template <LibraryFunction F, Real T>
Number<T> call(Number<T> a, Number<T> b = {}) {
  if constexpr (std::same_as<T, double>)
    return {info(F).f64(a.value, b.value)};
  else
    return {info(F).f32(a.value, b.value)};
}
template <LibraryFunction F, Real T, class... B>
Scalar<T> call(Scalar<T> a, B... b) {
  return detail::append<T>(Primitive::call, DType{}, static_cast<std::uint64_t>(F), a, b...);
}

// Raises `fault` where `failed` holds.
inline Number<bool> check(Number<bool> failed, Fault fault) {
  if (failed.value) Faults::raise(fault);
  return failed;
}
inline Scalar<bool> check(Scalar<bool> failed, Fault fault) {
  return detail::append<bool>(Primitive::check, DType{}, static_cast<std::uint64_t>(fault), failed);
}

// Not primitives, but always wanted.
template <AnyScalar S>
  requires std::same_as<ElementOf<S>, bool>
S operator!(S a) {
  return a ^ literal<S>(true);
}
template <AnyScalar S>
BooleanOf<S> is_nan(S a) {
  return a != a;
}

}  // namespace braze::ir
