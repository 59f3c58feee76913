// What the primitives compute: against wider arithmetic, the machine's own instructions, and the values PyTorch gives on x86.
#include "ir/scalar.h"

#include <climits>
#include <cmath>
#include <random>
#include <vector>

#include "ir/error.h"
#include "tests/catch.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

using namespace braze;
using namespace braze::ir;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T, class F>
T binary(Primitive p, F a, F b) {
  const bool compares = std::same_as<T, bool> && !std::same_as<F, bool>;
  const Instruction instruction{.op = p, .type = dtype_of<T>, .from = compares ? dtype_of<F> : DType{}};
  return from_bits<T>(evaluate(instruction, to_bits(a), to_bits(b)));
}

template <class U, class T>
U cast(T a) {
  return from_bits<U>(evaluate({.op = Primitive::convert, .type = dtype_of<U>, .from = dtype_of<T>}, to_bits(a)));
}

template <class T>
std::vector<T> interesting() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), T(1), T(2), T(3), T(7), T(8), T(9), T(31), T(32), T(63), T(64), Limits::max(), Limits::min()};
  for (int i : {-1, -2, -3, -7, -8, -64}) values.push_back(static_cast<T>(i));
  for (int i : {1, 2}) values.push_back(static_cast<T>(Limits::max() - i)), values.push_back(static_cast<T>(Limits::min() + i));
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) values.push_back(static_cast<T>(random()));
  return values;
}

// T(x) of a wide integer, by the definition of wrapping.
template <class T>
T wrapped(__int128 x) {
  const __int128 size = __int128{1} << (8 * sizeof(T));
  __int128 r = x % size;
  if (r < std::numeric_limits<T>::min()) r += size;
  if (r > std::numeric_limits<T>::max()) r -= size;
  return static_cast<T>(r);
}

}  // namespace

TEMPLATE_TEST_CASE("Integers wrap, divide and shift without a fault", "", std::uint8_t, std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t) {
  using T = TestType;
  constexpr int bits = static_cast<int>(sizeof(T)) * 8;
  for (const T a : interesting<T>()) {
    CHECK(from_bits<T>(evaluate({.op = Primitive::neg, .type = dtype_of<T>}, to_bits(a))) == wrapped<T>(-__int128{a}));
    CHECK(from_bits<T>(evaluate({.op = Primitive::abs, .type = dtype_of<T>}, to_bits(a))) ==
          wrapped<T>(a < 0 ? -__int128{a} : __int128{a}));
    for (const T b : interesting<T>()) {
      INFO(+a << ", " << +b);
      const __int128 x = a, y = b;
      CHECK(binary<T>(Primitive::add, a, b) == wrapped<T>(x + y));
      CHECK(binary<T>(Primitive::sub, a, b) == wrapped<T>(x - y));
      CHECK(binary<T>(Primitive::mul, a, b) == wrapped<T>(x * y));
      CHECK(binary<T>(Primitive::quo, a, b) == (b == 0 ? T(0) : wrapped<T>(x / y)));
      CHECK(binary<T>(Primitive::rem, a, b) == (b == 0 ? T(0) : wrapped<T>(x % y)));
      const bool inside = y >= 0 && y < bits;
      CHECK(binary<T>(Primitive::shl, a, b) ==
            (inside ? wrapped<T>(x * (__int128{1} << (inside ? static_cast<int>(y) : 0))) : T(0)));
      CHECK(binary<T>(Primitive::shr, a, b) ==
            (inside ? static_cast<T>(x >> static_cast<int>(y)) : static_cast<T>(a < 0 ? -1 : 0)));
      CHECK(binary<T>(Primitive::bit_and, a, b) == static_cast<T>(x & y));
      CHECK(binary<T>(Primitive::bit_or, a, b) == static_cast<T>(x | y));
      CHECK(binary<T>(Primitive::bit_xor, a, b) == static_cast<T>(x ^ y));
      CHECK(binary<bool>(Primitive::lt, a, b) == (x < y));
      CHECK(binary<bool>(Primitive::le, a, b) == (x <= y));
      CHECK(binary<bool>(Primitive::eq, a, b) == (x == y));
      CHECK(binary<bool>(Primitive::ne, a, b) == (x != y));
    }
  }
}

TEST_CASE("Casts out of range give PyTorch's x86 values") {
  struct Row {
    double value;
    std::int64_t u8, i8, i16, i32, i64;
  };
  const Row rows[] = {
      {0.9, 0, 0, 0, 0, 0},
      {-0.9, 0, 0, 0, 0, 0},
      {300.0, 44, 44, 300, 300, 300},
      {-1.0, 255, -1, -1, -1, -1},
      {-300.7, 212, -44, -300, -300, -300},
      {70000.0, 112, 112, 4464, 70000, 70000},
      {1e10, 0, 0, 0, INT_MIN, 10000000000},
      {-1e10, 0, 0, 0, INT_MIN, -10000000000},
      {2147483647.0, 255, -1, -1, 2147483647, 2147483647},
      {2147483648.0, 0, 0, 0, INT_MIN, 2147483648},
      {-2147483648.9, 0, 0, 0, INT_MIN, -2147483648},
      {4294967300.0, 4, 0, 0, INT_MIN, 4294967300},
      {1e19, 0, 0, 0, INT_MIN, INT64_MIN},
      {-1e19, 0, 0, 0, INT_MIN, INT64_MIN},
      {9223372036854775808.0, 0, 0, 0, INT_MIN, INT64_MIN},
      {inf, 0, 0, 0, INT_MIN, INT64_MIN},
      {-inf, 0, 0, 0, INT_MIN, INT64_MIN},
      {not_a_number, 0, 0, 0, INT_MIN, INT64_MIN},
  };
  for (const Row& row : rows) {
    INFO(row.value);
    CHECK(cast<std::uint8_t>(row.value) == row.u8);
    CHECK(cast<std::int8_t>(row.value) == row.i8);
    CHECK(cast<std::int16_t>(row.value) == row.i16);
    CHECK(cast<std::int32_t>(row.value) == row.i32);
    CHECK(cast<std::int64_t>(row.value) == row.i64);
    CHECK(cast<bool>(row.value) == (row.value != 0));
  }
}

#ifdef __SSE2__
TEST_CASE("Float to integer is the machine's own cvtt, for random bits") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t bits = random();
    // Half of them near the borders of i32 and i64, where all the trouble is.
    const double d = i % 2 ? std::bit_cast<double>(bits)
                           : std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)), -static_cast<int>(bits % 40));
    const float f = i % 2 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : static_cast<float>(d);
    if (cast<std::int32_t>(f) != _mm_cvttss_si32(_mm_set_ss(f))) FAIL(f);
    if (cast<std::int64_t>(f) != _mm_cvttss_si64(_mm_set_ss(f))) FAIL(f);
    if (cast<std::int32_t>(d) != _mm_cvttsd_si32(_mm_set_sd(d))) FAIL(d);
    if (cast<std::int64_t>(d) != _mm_cvttsd_si64(_mm_set_sd(d))) FAIL(d);
    if (cast<std::uint8_t>(f) != static_cast<std::uint8_t>(_mm_cvttss_si64(_mm_set_ss(f)))) FAIL(f);
    if (cast<std::uint8_t>(f) != static_cast<std::uint8_t>(_mm_cvttss_si32(_mm_set_ss(f)))) FAIL(f);  // as the law says
    if (cast<std::uint8_t>(d) != static_cast<std::uint8_t>(_mm_cvttsd_si64(_mm_set_sd(d)))) FAIL(d);
    if (cast<std::int16_t>(d) != static_cast<std::int16_t>(_mm_cvttsd_si32(_mm_set_sd(d)))) FAIL(d);
  }
}
#endif

TEST_CASE("Casts between the rest: integers by their low bits, halves through f32, NaN is true") {
  CHECK(cast<std::uint8_t>(std::int64_t{0x1ff}) == 0xff);
  CHECK(cast<std::int8_t>(std::uint8_t{200}) == -56);
  CHECK(cast<std::int64_t>(std::uint8_t{200}) == 200);
  CHECK(cast<std::int64_t>(std::int8_t{-3}) == -3);
  CHECK(cast<std::int32_t>(true) == 1);
  CHECK(cast<double>(true) == 1.0);
  CHECK(cast<Float16>(true).bits == 0x3c00);
  CHECK(cast<bool>(not_a_number));
  CHECK(cast<bool>(1e-45f));
  CHECK(cast<bool>(Float16{0x0001}));
  CHECK_FALSE(cast<bool>(BFloat16{0x8000}));
  CHECK_FALSE(cast<bool>(-0.0));
  CHECK(cast<float>(std::int64_t{(1ll << 53) + (1ll << 29) + 1}) == 0x1.000002p53f);  // rounds once: through f64 it would be a tie
  CHECK(cast<Float16>(std::int64_t{100000}).bits == 0x7c00);
  CHECK(cast<std::int32_t>(Float16{0xfc00}) == INT_MIN);
  CHECK(cast<BFloat16>(Float16{0x3c01}).bits == 0x3f80);
  CHECK(cast<float>(1e-50) == 0.0f);
  CHECK(cast<float>(1e39) == std::numeric_limits<float>::infinity());
}

TEMPLATE_TEST_CASE("ldexp is std::ldexp for every kind of number and count", "", float, double) {
  using T = TestType;
  std::mt19937_64 random(5);
  for (int i = 0; i < 200'000; ++i) {
    const T a = from_bits<T>(random());
    const int range = i % 4 ? 80 : 2400, n = static_cast<int>(random() % static_cast<unsigned>(2 * range + 1)) - range;
    const T ours = binary<T>(Primitive::ldexp, a, static_cast<T>(n)), theirs = std::ldexp(a, n);
    if (std::isnan(a) ? !std::isnan(ours) : to_bits(ours) != to_bits(theirs)) FAIL(a << ", " << n);
  }
  CHECK(binary<T>(Primitive::ldexp, T(1), T(1e30)) == std::numeric_limits<T>::infinity());
  CHECK(binary<T>(Primitive::ldexp, T(1), T(-1e30)) == T(0));
  CHECK(binary<T>(Primitive::ldexp, std::numeric_limits<T>::infinity(), T(-inf)) == std::numeric_limits<T>::infinity());
  CHECK(binary<T>(Primitive::ldexp, T(0), T(inf)) == T(0));
  CHECK(std::isnan(binary<T>(Primitive::ldexp, T(1), T(not_a_number))));
}

TEST_CASE("Floats are IEEE: rounding, signs of zero, NaN in comparisons, fma") {
  const auto unary = [](Primitive p, double a) { return from_bits<double>(evaluate({.op = p, .type = DType::f64}, to_bits(a))); };
  CHECK(unary(Primitive::round_even, 2.5) == 2.0);
  CHECK(unary(Primitive::round_even, -3.5) == -4.0);
  CHECK(to_bits(unary(Primitive::round_even, -0.2)) == to_bits(-0.0));
  CHECK(to_bits(unary(Primitive::ceil, -0.2)) == to_bits(-0.0));
  CHECK(to_bits(unary(Primitive::neg, 0.0)) == to_bits(-0.0));
  CHECK(to_bits(unary(Primitive::neg, not_a_number)) == (to_bits(not_a_number) ^ (std::uint64_t{1} << 63)));
  CHECK(to_bits(unary(Primitive::abs, -not_a_number)) == to_bits(std::fabs(not_a_number)));
  CHECK(std::isnan(unary(Primitive::sqrt, -1.0)));
  CHECK(to_bits(unary(Primitive::sqrt, -0.0)) == to_bits(-0.0));
  for (Primitive p : {Primitive::eq, Primitive::lt, Primitive::le}) CHECK_FALSE(binary<bool>(p, not_a_number, not_a_number));
  CHECK(binary<bool>(Primitive::ne, not_a_number, not_a_number));
  CHECK(binary<bool>(Primitive::eq, 0.0, -0.0));
  CHECK(binary<double>(Primitive::copysign, 3.0, -0.0) == -3.0);
  const double a = 1 + 0x1p-30, product = 1 + 0x1p-29;  // a * a less what rounds away
  CHECK(from_bits<double>(evaluate({.op = Primitive::fma, .type = DType::f64}, to_bits(a), to_bits(a), to_bits(-product))) ==
        0x1p-60);
}

TEST_CASE("select keeps every bit, halves and NaN included; bitcast changes none") {
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::i8, DType::boolean}) {
    const std::uint64_t a = t == DType::boolean ? 1 : 0x7d & 0xff, b = 0;
    CHECK(evaluate({.op = Primitive::select, .type = t}, 1, a, b) == a);
    CHECK(evaluate({.op = Primitive::select, .type = t}, 0, a, b) == b);
  }
  CHECK(evaluate({.op = Primitive::bitcast, .type = DType::i16, .from = DType::f16}, 0x7d01) == 0x7d01);
  CHECK(from_bits<std::int32_t>(evaluate({.op = Primitive::bitcast, .type = DType::i32, .from = DType::f32}, to_bits(-1.0f))) ==
        static_cast<std::int32_t>(0xbf800000));
}

TEST_CASE("check keeps the first fault; an op on a type it does not take is our bug") {
  Fault fault = Fault::none;
  const Instruction division{
      .op = Primitive::check, .type = DType::boolean, .payload = static_cast<std::uint64_t>(Fault::division_by_zero)};
  const Instruction index{
      .op = Primitive::check, .type = DType::boolean, .payload = static_cast<std::uint64_t>(Fault::index_out_of_range)};
  CHECK(evaluate(index, 0, 0, 0, &fault) == 0);
  CHECK(fault == Fault::none);
  CHECK(evaluate(division, 1, 0, 0, &fault) == 1);
  evaluate(index, 1, 0, 0, &fault);
  CHECK(fault == Fault::division_by_zero);
  CHECK_THROWS_AS(evaluate({.op = Primitive::add, .type = DType::f16}), InternalError);
  CHECK_THROWS_AS(evaluate({.op = Primitive::fma, .type = DType::i32}), InternalError);
  CHECK_THROWS_AS(evaluate({.op = Primitive::call, .type = DType::i32}), InternalError);
  CHECK_THROWS_AS(evaluate({.op = Primitive::bitcast, .type = DType::i32, .from = DType::f64}), InternalError);
}

TEST_CASE("Library functions and primitives are found by their names") {
  for (std::size_t i = 0; i < std::size(primitive_table); ++i)
    CHECK(primitive_from_name(primitive_table[i].name) == static_cast<Primitive>(i));
  CHECK_FALSE(primitive_from_name("multiply"));
  CHECK(library_function_from_name("atan2") == LibraryFunction::atan2);
  CHECK_FALSE(library_function_from_name("system"));
  CHECK(info(LibraryFunction::atan2).name_f32 == "atan2f");
  CHECK(info(LibraryFunction::atan2).f64(1.0, -1.0) == std::atan2(1.0, -1.0));
  CHECK(info(LibraryFunction::lgamma).f64(-0.5, 0.0) == std::lgamma(-0.5));
  const Instruction call{.op = Primitive::call, .type = DType::f32, .payload = static_cast<std::uint64_t>(LibraryFunction::hypot)};
  CHECK(from_bits<float>(evaluate(call, to_bits(3.0f), to_bits(4.0f))) == 5.0f);
}
