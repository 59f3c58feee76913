// What each op means: the code that `build` appends against what `evaluate` computes, for every row and dtype of the table; and
// the values that PyTorch's documentation and kernels give.
#include <climits>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "ir/error.h"
#include "ir/meaning.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

// Scalar code as a list; operands are values 0 to 2.
class Listing final : public InstructionSink {
 public:
  ValueId append(const Instruction& instruction) override {
    for (std::size_t i = 0; i < info(instruction.op).arity; ++i)
      if (instruction.in[i] != no_value && instruction.in[i] >= first_ + list_.size()) FAIL("an operand that is not there yet");
    list_.push_back(instruction);
    return first_ + static_cast<ValueId>(list_.size()) - 1;
  }

  std::uint64_t run(ValueId result, std::span<const std::uint64_t> operands, Fault* fault) const {
    std::vector<std::uint64_t> values(first_);
    std::ranges::copy(operands, values.begin());
    for (const Instruction& i : list_) {
      const auto in = [&](std::size_t n) { return i.in[n] == no_value ? 0 : values[i.in[n]]; };
      values.push_back(evaluate(i, in(0), in(1), in(2), fault));
    }
    return values[result];
  }
  std::size_t size() const { return list_.size(); }

 private:
  static constexpr ValueId first_ = 3;
  std::vector<Instruction> list_;
};

std::vector<std::uint64_t> interesting(DType type) {
  return with_type(type, []<class T>(std::type_identity<T>) {
    std::set<std::uint64_t> bits;
    if constexpr (std::same_as<T, bool>) {
      bits = {0, 1};
    } else if constexpr (Integer<T>) {
      using Limits = std::numeric_limits<T>;
      for (const T v : {Limits::min(), Limits::max(), static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() - 1)})
        bits.insert(to_bits(v));
      for (int i : {0, 1, 2, 3, 5, 7, 8, 31, 63, 100, -1, -2, -3, -5, -8, -100}) bits.insert(to_bits(static_cast<T>(i)));
    } else {
      for (double v : {0.0,   0.25,  0.4, 0.5,  0.9999999, 1.0,  1.5,   2.0,  2.5,   3.7,   10.0,   15.25, 88.0,
                       100.0, 300.5, 1e5, 1e10, 1e20,      1e38, 1e300, 1e-3, 1e-10, 1e-39, 1e-310, inf,   not_a_number})
        for (double sign : {1.0, -1.0}) bits.insert(to_bits(detail::convert<T>(sign * v)));
    }
    return std::vector(bits.begin(), bits.end());
  });
}

bool is_nan_of(DType type, std::uint64_t bits) {
  return with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (Half<T>)
      return std::isnan(to_f32(from_bits<T>(bits)));
    else if constexpr (Real<T>)
      return std::isnan(from_bits<T>(bits));
    else
      return false;
  });
}

template <class T>
T value(Op op, std::type_identity_t<T> a) {
  return from_bits<T>(evaluate(op, dtype_of<T>, std::array{to_bits(a)}));
}
template <class T>
T value(Op op, std::type_identity_t<T> a, std::type_identity_t<T> b, Fault* fault = nullptr) {
  return from_bits<T>(evaluate(op, dtype_of<T>, std::array{to_bits(a), to_bits(b)}, fault));
}
template <class T>
bool truth(Op op, std::type_identity_t<T> a) {
  return evaluate(op, dtype_of<T>, std::array{to_bits(a)}) != 0;
}
template <class T>
bool truth(Op op, std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return evaluate(op, dtype_of<T>, std::array{to_bits(a), to_bits(b)}) != 0;
}

bool same(double a, double b) { return std::isnan(b) ? std::isnan(a) : to_bits(a) == to_bits(b); }

}  // namespace

TEST_CASE("The code that build appends computes what evaluate does, for every row and dtype") {
  for (int row = 0; row < op_count; ++row) {
    const Op op = static_cast<Op>(row);
    if (info(op).op_class >= OpClass::shaped) continue;
    const int operands = arity(op);
    for (DType type : all_dtypes) {
      if (!accepts(op, type)) continue;
      INFO(name(op) << " " << name(type));
      Listing listing;
      // Around the code for a half stand the conversions that lowering inserts.
      const DType computed = compute_type(type), result_dtype = result_type(op, type);
      std::vector<ValueId> in;
      for (ValueId i = 0; i < static_cast<ValueId>(operands); ++i) {
        const bool condition = op == Op::where && i == 0;
        in.push_back(
            computed == type || condition
                ? i
                : listing.append({.op = Primitive::convert, .type = computed, .from = type, .in = {i, no_value, no_value}}));
      }
      ValueId result = build(op, type, in, listing);
      if (is_half(result_dtype))
        result = listing.append({.op = Primitive::convert, .type = type, .from = DType::f32, .in = {result, no_value, no_value}});
      CHECK(cost(op, type) >= 0);
      CHECK(cost(op, type) <= static_cast<int>(listing.size()) * 20);

      const std::vector<std::uint64_t> values = interesting(type), conditions = {0, 1}, none = {0};
      int different = 0;
      for (std::uint64_t a : op == Op::where ? conditions : values)
        for (std::uint64_t b : operands > 1 ? values : none)
          for (std::uint64_t c : operands > 2 ? values : none) {
            const std::array all = {a, b, c};
            const std::span used = std::span(all).first(static_cast<std::size_t>(operands));
            Fault computed_fault = Fault::none, built_fault = Fault::none;
            const std::uint64_t evaluated = evaluate(op, type, used, &computed_fault),
                                ran = listing.run(result, used, &built_fault);
            const bool equal = evaluated == ran || (is_nan_of(result_dtype, evaluated) && is_nan_of(result_dtype, ran));
            different += !equal || computed_fault != built_fault;
          }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("An op refuses types that its row does not accept") {
  CHECK_THROWS_AS(evaluate(Op::exp, DType::i32, std::array<std::uint64_t, 1>{0}), InternalError);
  CHECK_THROWS_AS(evaluate(Op::sub, DType::boolean, std::array<std::uint64_t, 2>{0, 0}), InternalError);
  CHECK_THROWS_AS(evaluate(Op::sum, DType::f32, std::array<std::uint64_t, 1>{0}), InternalError);
  CHECK_THROWS_AS(evaluate(Op::add, DType::f32, std::array<std::uint64_t, 1>{0}), InternalError);
}

TEST_CASE("Integer division: floored, truncated, remainders of both signs, PyTorch's values") {
  struct Row {
    std::int32_t a, b, floored, truncated, remainder, fmod;
  };
  for (const Row& r :
       {Row{7, 2, 3, 3, 1, 1}, Row{-7, 2, -4, -3, 1, -1}, Row{7, -2, -4, -3, -1, 1}, Row{-7, -2, 3, 3, -1, -1},
        Row{6, -3, -2, -2, 0, 0}, Row{INT_MIN, -1, INT_MIN, INT_MIN, 0, 0}, Row{INT_MIN, 3, -715827883, -715827882, 1, -2}}) {
    INFO(r.a << " / " << r.b);
    CHECK(value<std::int32_t>(Op::floor_divide, r.a, r.b) == r.floored);
    CHECK(value<std::int32_t>(Op::trunc_divide, r.a, r.b) == r.truncated);
    CHECK(value<std::int32_t>(Op::remainder, r.a, r.b) == r.remainder);
    CHECK(value<std::int32_t>(Op::fmod, r.a, r.b) == r.fmod);
  }
  CHECK(value<std::uint8_t>(Op::floor_divide, 250, 7) == 35);
  CHECK(value<std::uint8_t>(Op::remainder, 250, 7) == 5);
}

TEST_CASE("Integer division by zero raises the fault, float division gives IEEE's values") {
  for (Op op : {Op::floor_divide, Op::trunc_divide, Op::remainder, Op::fmod}) {
    for (DType type : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
      Fault fault = Fault::none;
      evaluate(op, type, std::array<std::uint64_t, 2>{5, 1}, &fault);
      CHECK(fault == Fault::none);
      evaluate(op, type, std::array<std::uint64_t, 2>{5, 0}, &fault);
      CHECK(fault == Fault::division_by_zero);
    }
    Fault fault = Fault::none;
    value<double>(op, 5.0, 0.0, &fault);
    CHECK(fault == Fault::none);
  }
  CHECK(value<double>(Op::floor_divide, 1.0, 0.0) == inf);
  CHECK(value<double>(Op::floor_divide, -1.0, 0.0) == -inf);
  CHECK(std::isnan(value<double>(Op::floor_divide, 0.0, 0.0)));
  CHECK(std::isnan(value<double>(Op::remainder, 1.0, 0.0)));
}

TEST_CASE("Float remainders and floor division are Python's") {
  struct Row {
    double a, b, floored, remainder, fmod;
  };
  // From CPython: a // b, a % b, math.fmod(a, b).
  for (const Row& r : {Row{5.5, 2, 2, 1.5, 1.5}, Row{-5.5, 2, -3, 0.5, -1.5}, Row{5.5, -2, -3, -0.5, 1.5},
                       Row{-5.5, -2, 2, -1.5, -1.5}, Row{1.0, 0.1, 9, 0.09999999999999995, 0.09999999999999995},
                       Row{-1e-20, 3, -1, 3, -1e-20}, Row{4, 2, 2, 0, 0}, Row{-0.0, 2, -0.0, -0.0, -0.0}, Row{3, inf, 0, 3, 3}}) {
    INFO(r.a << " / " << r.b);
    CHECK(same(value<double>(Op::floor_divide, r.a, r.b), r.floored));
    CHECK(same(value<double>(Op::remainder, r.a, r.b), r.remainder));
    CHECK(same(value<double>(Op::fmod, r.a, r.b), r.fmod));
  }
  CHECK(same(value<double>(Op::trunc_divide, -7.0, 2.0), -3.0));
}

TEST_CASE("Integer powers wrap; to negative exponents only 1 and -1 have any") {
  CHECK(value<std::int32_t>(Op::pow, 3, 13) == 1594323);
  CHECK(value<std::int32_t>(Op::pow, 3, 30) == static_cast<std::int32_t>(205891132094649 & 0xffffffff));
  CHECK(value<std::int64_t>(Op::pow, -2, 63) == INT64_MIN);
  CHECK(value<std::int64_t>(Op::pow, 2, 64) == 0);
  CHECK(value<std::int64_t>(Op::pow, -1, INT64_MAX) == -1);
  CHECK(value<std::int32_t>(Op::pow, 0, 0) == 1);
  CHECK(value<std::int8_t>(Op::pow, 1, -5) == 1);
  CHECK(value<std::int8_t>(Op::pow, -1, -5) == -1);
  CHECK(value<std::int8_t>(Op::pow, -1, -4) == 1);
  CHECK(value<std::int8_t>(Op::pow, 2, -1) == 0);
  CHECK(value<std::int8_t>(Op::pow, 0, -1) == 0);
  CHECK(value<std::uint8_t>(Op::pow, 3, 200) == 161);  // Python: pow(3, 200, 256)
  for (int a = -128; a < 128; ++a)
    for (int b = 0; b < 128; ++b) {
      std::int8_t product = 1;
      for (int i = 0; i < b; ++i) product = static_cast<std::int8_t>(product * a);
      if (value<std::int8_t>(Op::pow, static_cast<std::int8_t>(a), static_cast<std::int8_t>(b)) != product) FAIL(a << " ** " << b);
    }
}

TEST_CASE("Extremes: NaN propagates in maximum and loses in fmax") {
  CHECK(value<float>(Op::maximum, 1, 2) == 2);
  CHECK(value<float>(Op::minimum, 1, 2) == 1);
  for (Op op : {Op::maximum, Op::minimum}) {
    CHECK(std::isnan(value<double>(op, not_a_number, 1)));
    CHECK(std::isnan(value<double>(op, 1, not_a_number)));
  }
  for (Op op : {Op::fmax, Op::fmin}) {
    CHECK(value<double>(op, not_a_number, 1) == 1);
    CHECK(value<double>(op, 1, not_a_number) == 1);
    CHECK(std::isnan(value<double>(op, not_a_number, not_a_number)));
  }
  // Of two NaNs the first.
  CHECK(evaluate(Op::maximum, DType::f64, std::array<std::uint64_t, 2>{0x7ff8000000000001, 0x7ff8000000000002}) ==
        0x7ff8000000000001);
  CHECK(value<bool>(Op::maximum, true, false));
  CHECK_FALSE(value<bool>(Op::fmin, true, false));
  CHECK(value<std::int8_t>(Op::fmin, -5, 3) == -5);
}

TEST_CASE("Signs, rounding, classification") {
  CHECK(value<double>(Op::sign, not_a_number) == 0);
  CHECK(same(value<double>(Op::sign, -0.0), 0.0));
  CHECK(value<double>(Op::sign, -inf) == -1);
  CHECK(value<std::uint8_t>(Op::sign, 200) == 1);
  CHECK(value<std::int64_t>(Op::sign, INT64_MIN) == -1);
  CHECK(value<bool>(Op::sign, true));
  for (auto [x, rounded] : std::map<double, double>{{0.5, 0}, {1.5, 2}, {2.5, 2}, {-1.5, -2}, {2.4999, 2}})
    CHECK(value<double>(Op::round, x) == rounded);
  CHECK(value<std::int32_t>(Op::floor, -7) == -7);
  CHECK(value<std::int32_t>(Op::abs, INT_MIN) == INT_MIN);
  CHECK(truth<double>(Op::signbit, -0.0));
  CHECK(truth<float>(Op::signbit, -std::numeric_limits<float>::quiet_NaN()));
  CHECK_FALSE(truth<double>(Op::signbit, 0.0));
  CHECK(truth<std::int8_t>(Op::signbit, -1));
  CHECK_FALSE(truth<std::uint8_t>(Op::signbit, 255));
  CHECK(truth<double>(Op::isnan, not_a_number));
  CHECK_FALSE(truth<double>(Op::isnan, inf));
  CHECK(truth<double>(Op::isinf, -inf));
  CHECK_FALSE(truth<double>(Op::isinf, not_a_number));
  CHECK(truth<double>(Op::isfinite, -1e308));
  CHECK_FALSE(truth<double>(Op::isfinite, not_a_number));
  CHECK_FALSE(truth<double>(Op::isfinite, inf));
  CHECK(truth<std::int32_t>(Op::isfinite, 3));
  CHECK(truth<Float16>(Op::isinf, Float16{0x7c00}));
}

TEST_CASE("Logic and bits: any dtype is true unless zero; boolean add is or, mul is and") {
  CHECK(truth<double>(Op::logical_and, not_a_number, -2.0));
  CHECK_FALSE(truth<double>(Op::logical_and, 1.0, -0.0));
  CHECK(truth<std::int32_t>(Op::logical_xor, 2, 0));
  CHECK_FALSE(truth<std::int32_t>(Op::logical_xor, 2, 4));
  CHECK_FALSE(truth<BFloat16>(Op::logical_not, BFloat16{0x0001}));
  CHECK(truth<BFloat16>(Op::logical_not, BFloat16{0x8000}));
  CHECK(value<std::uint8_t>(Op::bitwise_not, 0) == 255);
  CHECK_FALSE(value<bool>(Op::bitwise_not, true));
  CHECK(value<bool>(Op::add, true, true));
  CHECK_FALSE(value<bool>(Op::mul, true, false));
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      CHECK(value<bool>(Op::lt, a, b) == (a < b));
      CHECK(value<bool>(Op::le, a, b) == (a <= b));
      CHECK(value<bool>(Op::gt, a, b) == (a > b));
      CHECK(value<bool>(Op::ge, a, b) == (a >= b));
      CHECK(value<bool>(Op::bitwise_xor, a, b) == (a != b));
    }
}

TEST_CASE("Shifts past the width and by negative counts are PyTorch's") {
  CHECK(value<std::int32_t>(Op::shift_left, 1, 31) == INT_MIN);
  CHECK(value<std::int32_t>(Op::shift_left, 1, 32) == 0);
  CHECK(value<std::int32_t>(Op::shift_left, 1, -1) == 0);
  CHECK(value<std::int32_t>(Op::shift_right, -8, 1) == -4);
  CHECK(value<std::int32_t>(Op::shift_right, -8, 40) == -1);
  CHECK(value<std::int32_t>(Op::shift_right, -8, -1) == -1);
  CHECK(value<std::uint8_t>(Op::shift_right, 200, 3) == 25);
  CHECK(value<std::uint8_t>(Op::shift_right, 200, 9) == 0);
}

TEST_CASE("nextafter steps in the grid of its dtype") {
  CHECK(value<float>(Op::nextafter, 1, 2) == std::nextafter(1.0f, 2.0f));
  CHECK(value<double>(Op::nextafter, 0, -1) == std::nextafter(0.0, -1.0));
  const auto check = [](auto half, auto bits_of_one) {
    using H = decltype(half);
    // The grid: every finite or infinite number of the format, in order.
    std::map<float, std::uint16_t> grid;
    for (std::uint32_t b = 0; b < 0x10000; ++b)
      if (const H h{static_cast<std::uint16_t>(b)}; !std::isnan(to_f32(h))) grid.emplace(to_f32(h), h.bits);
    const H up{static_cast<std::uint16_t>(bits_of_one)}, down{static_cast<std::uint16_t>(bits_of_one | 0x8000)};
    int wrong = 0;
    for (auto at = grid.begin(); at != grid.end(); ++at) {
      const float above = std::next(at) == grid.end() ? at->first : std::next(at)->first;
      const float below = at == grid.begin() ? at->first : std::prev(at)->first;
      const H self{at->second};
      if (at->first < to_f32(up)) wrong += to_f32(value<H>(Op::nextafter, self, up)) != above;
      if (at->first > to_f32(down)) wrong += to_f32(value<H>(Op::nextafter, self, down)) != below;
      wrong += to_f32(value<H>(Op::nextafter, self, self)) != at->first;
    }
    CHECK(wrong == 0);
    CHECK(value<H>(Op::nextafter, H{0}, H{0x8000}).bits == 0x8000);
    CHECK(value<H>(Op::nextafter, H{0}, down).bits == 0x8001);
    CHECK(std::isnan(to_f32(value<H>(Op::nextafter, H{0x7fff}, up))));
  };
  check(Float16{}, 0x7c00);  // infinity
  check(BFloat16{}, 0x7f80);
}

TEST_CASE("Halves round once after an op in f32") {
  // 1 + 2^-11 is halfway in f16 and goes to the even side; f32 holds it.
  CHECK(value<Float16>(Op::add, to_f16(1.0f), to_f16(0x1p-11f)).bits == 0x3c00);
  CHECK(value<Float16>(Op::mul, to_f16(300.0f), to_f16(300.0f)).bits == 0x7c00);
  CHECK(to_f32(value<BFloat16>(Op::exp, to_bf16(1.0f))) == to_f32(to_bf16(2.7182817f)));
  CHECK(truth<Float16>(Op::lt, to_f16(1.0f), to_f16(2.0f)));
  CHECK(from_bits<Float16>(evaluate(Op::where, DType::f16, std::array<std::uint64_t, 3>{1, 0x3c00, 0x4000})).bits == 0x3c00);
  CHECK(evaluate_cast(DType::f64, DType::u8, to_bits(300.0)) == 44);
}

TEST_CASE("erfinv and digamma, against values computed to 30 digits") {
  struct Row {
    double x, y;
  };
  // mpmath.digamma, mpmath.erfinv
  const Row digammas[] = {
      {0.5, -1.9635100260214234794},      {1.0, -0.57721566490153286061},  {1.4616321449683623, -9.2412655217294274792e-17},
      {2.5, 0.70315664064524318723},      {9.999, 2.2516474172057353142},  {10.0, 2.2517525890667211076},
      {1e-5, -100000.57719921567289},     {-0.5, 0.036489973978576520559}, {-3.25, 4.4662758723502799671},
      {-20.75, -0.085143521734187153786}, {1e6, 13.815510057964190771},    {100.5, 4.6051743525818452119},
  };
  const Row erfinvs[] = {
      {1e-10, 8.8622692545275804594e-11}, {0.001, 0.00088622715746655212301}, {0.3, 0.27246271472675434502},
      {0.5, 0.47693627620446987338},      {0.7, 0.73286907795921678488},      {-0.9, -1.1630871536766741628},
      {0.99, 1.8213863677184494559},      {0.9999999, 3.7665625816384708887}, {0.99999999999999, 5.4725525174145354146},
      {-0.25, -0.22531205501217810473},
  };
  for (const auto& [x, y] : digammas) {
    INFO("digamma " << x);
    // Near its zero at 1.46 the absolute error counts.
    CHECK(std::fabs(value<double>(Op::digamma, x) - y) <= 4e-15 * std::max(1.0, std::fabs(y)));
    const double rounded = static_cast<double>(static_cast<float>(x));
    if (rounded == x) CHECK(std::fabs(value<float>(Op::digamma, static_cast<float>(x)) - y) <= 1.2e-7 * std::fabs(y));
  }
  CHECK(value<double>(Op::digamma, 0.0) == -inf);
  CHECK(value<double>(Op::digamma, -0.0) == inf);
  CHECK(value<double>(Op::digamma, inf) == inf);
  CHECK(std::isnan(value<double>(Op::digamma, -3.0)));
  CHECK(std::isnan(value<double>(Op::digamma, -inf)));
  CHECK(std::isnan(value<double>(Op::digamma, not_a_number)));
  for (const auto& [x, y] : erfinvs) {
    INFO("erfinv " << x);
    CHECK(std::fabs(value<double>(Op::erfinv, x) - y) <= 1e-15 * std::fabs(y));
  }
  for (int i = 0; i < 146; ++i) {  // f32 against f64, itself checked above
    const float x = -0.999f + 0.0137f * static_cast<float>(i);
    const double y = value<double>(Op::erfinv, x);
    if (std::fabs(value<float>(Op::erfinv, x) - y) > 4e-7 * std::fabs(y)) FAIL("erfinv " << x);
  }
  CHECK(value<double>(Op::erfinv, 1) == inf);
  CHECK(value<double>(Op::erfinv, -1) == -inf);
  CHECK(std::isnan(value<double>(Op::erfinv, 1.001)));
  CHECK(same(value<double>(Op::erfinv, -0.0), -0.0));
}

TEST_CASE("ldexp multiplies by any power of two, in PyTorch's two roundings") {
  CHECK(value<float>(Op::ldexp, 3, 4) == 48);
  CHECK(value<float>(Op::ldexp, 1, -149) == 0x1p-149f);
  CHECK(value<float>(Op::ldexp, 0x1p-100f, 200) == std::numeric_limits<float>::infinity());  // 2^200 is infinite in f32
  CHECK(std::fabs(value<double>(Op::ldexp, 1, 0.5) - std::sqrt(2.0)) < 3e-16);
}

TEST_CASE("Costs: what is free, what calls the library, what divides") {
  CHECK(cost(Op::floor, DType::i32) == 0);
  CHECK(cost(Op::add, DType::f32) == 1);
  CHECK(cost(Op::sin, DType::f64) == 20);
  CHECK(cost(Op::exp, DType::f32) <= 16);
  CHECK(cost(Op::tanh, DType::f32) <= 40);
  CHECK(cost(Op::pow, DType::i64) > cost(Op::pow, DType::i8));
  CHECK(cost(Op::cast, DType::f32) == 1);
}
