// Elementwise functions against values recorded from PyTorch 2.15 (the conformance kit's golden.json), and PyTorch's rules for dtypes,
// shapes and refusals.
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;
namespace F = braze::nn::functional;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), qnan = std::numeric_limits<float>::quiet_NaN();

bool near(float a, float b) { return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-6f + 1e-5f * std::abs(b); }

struct Recorded {
  const char* text;
  Tensor result;
  Floats expected;
};

}  // namespace

TEST_CASE("float functions at special points give what PyTorch recorded") {
  const Tensor E = tensor({0., -0., 1., -1., 0.5, -2.5, 3., inf, -inf, qnan, 1e-40, 1e30, -1e-8});
  const Tensor U = tensor({0., -0., 0.25, -0.5, 1., -1., 1.5, -2., qnan});
  const Tensor fa = tensor({5.5, -5.5, 5.5, -5.5, 0., -0., inf, 3., qnan}), fb = tensor({2., 2., -2., -2., 3., 3., 2., inf, 1.});
  // clang-format off: a line a function
  const Recorded table[] = {
      {"abs(E)", abs(E), {0., 0., 1., 1., 0.5, 2.5, 3., inf, inf, qnan, 9.9999461e-41, 1.00000002e+30, 9.99999994e-09}},
      {"-E", -E, {-0., 0., -1., 1., -0.5, 2.5, -3., -inf, inf, qnan, -9.9999461e-41, -1.00000002e+30, 9.99999994e-09}},
      {"sqrt(E)", sqrt(E), {0., -0., 1., qnan, 0.707106769, qnan, 1.73205078, inf, qnan, qnan, 9.99997303e-21, 9.99999987e+14, qnan}},
      {"log(E)", log(E), {-inf, -inf, 0., qnan, -0.693147182, qnan, 1.09861231, inf, qnan, qnan, -92.1034088, 69.0775528, qnan}},
      {"log2(E)", log2(E), {-inf, -inf, 0., qnan, -1., qnan, 1.58496249, inf, qnan, qnan, -132.877136, 99.6578445, qnan}},
      {"log10(E)", log10(E), {-inf, -inf, 0., qnan, -0.30103001, qnan, 0.477121264, inf, qnan, qnan, -40.0000038, 30., qnan}},
      {"log1p(E)", log1p(E), {0., -0., 0.693147182, -inf, 0.405465096, qnan, 1.38629436, inf, qnan, qnan, 9.9999461e-41, 69.0775528, -9.99999994e-09}},
      {"sin(E)", sin(E), {0., -0., 0.841470957, -0.841470957, 0.47942555, -0.598472118, 0.141120002, qnan, qnan, qnan, 9.9999461e-41, -0.791163445, -9.99999994e-09}},
      {"cos(E)", cos(E), {1., 1., 0.540302336, 0.540302336, 0.87758255, -0.801143587, -0.989992499, qnan, qnan, qnan, 1., -0.61160481, 1.}},
      {"tan(E)", tan(E), {0., -0., 1.55740774, -1.55740774, 0.546302497, 0.747022271, -0.142546549, qnan, qnan, qnan, 9.9999461e-41, 1.29358613, -9.99999994e-09}},
      {"asin(U)", asin(U), {0., -0., 0.252680242, -0.52359879, 1.57079637, -1.57079637, qnan, qnan, qnan}},
      {"acos(U)", acos(U), {1.57079637, 1.57079637, 1.31811607, 2.09439516, 0., 3.14159274, qnan, qnan, qnan}},
      {"atan(U)", atan(U), {0., -0., 0.244978666, -0.463647604, 0.785398185, -0.785398185, 0.982793748, -1.10714877, qnan}},
      {"atan(E)", atan(E), {0., -0., 0.785398185, -0.785398185, 0.463647604, -1.19028997, 1.24904573, 1.57079637, -1.57079637, qnan, 9.9999461e-41, 1.57079637, -9.99999994e-09}},
      {"sinh(E)", sinh(E), {0., -0., 1.17520118, -1.17520118, 0.521095276, -6.05020475, 10.0178747, inf, -inf, qnan, 9.9999461e-41, inf, -9.99999994e-09}},
      {"cosh(E)", cosh(E), {1., 1., 1.54308057, 1.54308057, 1.12762594, 6.13228941, 10.0676622, inf, inf, qnan, 1., inf, 1.}},
      {"tanh(E)", tanh(E), {0., -0., 0.761594176, -0.761594176, 0.462117165, -0.986614287, 0.995054781, 1., -1., qnan, 9.9999461e-41, 1., -9.99999994e-09}},
      {"asinh(U)", asinh(U), {0., -0., 0.247466475, -0.481211841, 0.881373584, -0.881373584, 1.19476318, -1.44363546, qnan}},
      {"atanh(U)", atanh(U), {0., -0., 0.255412817, -0.549306154, inf, -inf, qnan, qnan, qnan}},
      {"erf(E)", erf(E), {0., -0., 0.842700779, -0.842700779, 0.520499885, -0.999593019, 0.999977887, 1., -1., qnan, 1.12836756e-40, 1., -1.12837917e-08}},
      {"erfc(E)", erfc(E), {1., 1., 0.157299206, 1.84270084, 0.479500115, 1.99959302, 2.20904967e-05, 0., 2., qnan, 1., 0., 1.}},
      {"erfinv(tensor({0., 0.5, -0.9, 1., -1., 2.}))", erfinv(tensor({0., 0.5, -0.9, 1., -1., 2.})), {0., 0.476936281, -1.16308713, inf, -inf, qnan}},
      {"lgamma(tensor({0.5, 1., 3., -0.5, 0., -1., inf, qnan}))", lgamma(tensor({0.5, 1., 3., -0.5, 0., -1., inf, qnan})), {0.572364926, 0., 0.693147182, 1.26551211, inf, inf, inf, qnan}},
      {"digamma(tensor({1., 0.5, 10.}))", digamma(tensor({1., 0.5, 10.})), {-0.57721591, -1.96351087, 2.25175261}},
      {"polygamma(1, tensor({1., 2.}))", polygamma(1, tensor({1., 2.})), {1.64493406, 0.644934058}},
      {"mvlgamma(tensor({3.}), 2)", mvlgamma(tensor({3.}), 2), {1.55019498}},
      {"sigmoid(E)", sigmoid(E), {0.5, 0.5, 0.731058598, 0.268941432, 0.622459352, 0.0758581758, 0.952574134, 1., 0., qnan, 0.5, 1., 0.5}},
      {"logit(tensor({0.5, 0., 1., 0.1}))", logit(tensor({0.5, 0., 1., 0.1})), {0., -inf, inf, -2.19722462}},
      {"logit(tensor({0., 1.}), 0.01)", logit(tensor({0., 1.}), 0.01), {-4.59511995, 4.59512091}},
      {"sinc(tensor({0., 0.5, 1.}))", sinc(tensor({0., 0.5, 1.})), {1., 0.636619747, -2.78275341e-08}},
      {"xlogy(tensor({0., 1., 0., 2.}), tensor({0., 2., qnan, 0.}))", xlogy(tensor({0., 1., 0., 2.}), tensor({0., 2., qnan, 0.})), {0., 0.693147182, qnan, -inf}},
      {"deg2rad(tensor({180., 90.}))", deg2rad(tensor({180., 90.})), {3.14159274, 1.57079637}},
      {"rad2deg(tensor({3.14159265}))", rad2deg(tensor({3.14159265})), {180.}},
      {"logaddexp(tensor({0., 1000., -inf, inf}), tensor({0., 1000., -inf, 1.}))", logaddexp(tensor({0., 1000., -inf, inf}), tensor({0., 1000., -inf, 1.})), {0.693147182, 1000.69318, -inf, inf}},
      {"logaddexp2(tensor({1.}), tensor({2.}))", logaddexp2(tensor({1.}), tensor({2.})), {2.58496237}},
      {"relu(E)", relu(E), {0., -0., 1., 0., 0.5, 0., 3., inf, 0., qnan, 9.9999461e-41, 1.00000002e+30, 0.}},
      {"F::relu6(tensor({-1., 3., 7.}))", F::relu6(tensor({-1., 3., 7.})), {0., 3., 6.}},
      {"F::leaky_relu(E)", F::leaky_relu(E), {0., -0., 1., -0.00999999978, 0.5, -0.0249999985, 3., inf, -inf, qnan, 9.9999461e-41, 1.00000002e+30, -9.99999944e-11}},
      {"F::elu(E)", F::elu(E), {0., -0., 1., -0.63212055, 0.5, -0.917914987, 3., inf, -1., qnan, 9.9999461e-41, 1.00000002e+30, -9.99999994e-09}},
      {"F::celu(U)", F::celu(U), {0., -0., 0.25, -0.393469334, 1., -0.63212055, 1.5, -0.864664733, qnan}},
      {"F::selu(U)", F::selu(U), {0., -0., 0.262675256, -0.691758156, 1.05070102, -1.11133075, 1.57605147, -1.52016652, qnan}},
      {"F::gelu(E)", F::gelu(E), {0., -0., 0.841344714, -0.158655256, 0.345731229, -0.0155241787, 2.99594975, qnan, qnan, qnan, 4.99997305e-41, 1.00000002e+30, -4.99999997e-09}},
      {"F::gelu(U, \"tanh\")", F::gelu(U, "tanh"), {0., -0., 0.149675354, -0.154285997, 0.841192007, -0.158807993, 1.39957154, -0.0454022884, qnan}},
      {"F::silu(E)", F::silu(E), {0., -0., 0.731058598, -0.268941432, 0.311229676, -0.189645454, 2.85772252, inf, qnan, qnan, 4.99997305e-41, 1.00000002e+30, -4.99999997e-09}},
      {"F::mish(U)", F::mish(U), {0., -0., 0.169572398, -0.22074376, 0.865098357, -0.30340144, 1.40337825, -0.252501458, qnan}},
      {"F::hardswish(tensor({-4., -1., 0., 1., 4.}))", F::hardswish(tensor({-4., -1., 0., 1., 4.})), {-0., -0.333333343, 0., 0.666666687, 4.}},
      {"F::hardsigmoid(tensor({-4., 0., 1., 4.}))", F::hardsigmoid(tensor({-4., 0., 1., 4.})), {0., 0.5, 0.666666687, 1.}},
      {"F::hardtanh(tensor({-2., 0.5, 2.}))", F::hardtanh(tensor({-2., 0.5, 2.})), {-1., 0.5, 1.}},
      {"F::prelu(tensor({-1., 2.}), tensor({0.25}))", F::prelu(tensor({-1., 2.}), tensor({0.25})), {-0.25, 2.}},
      {"F::glu(tensor({1., 2., 3., 4.}))", F::glu(tensor({1., 2., 3., 4.})), {0.952574134, 1.96402752}},
      {"pow(U, 2)", pow(U, 2), {0., 0., 0.0625, 0.25, 1., 1., 2.25, 4., qnan}},
      {"pow(U, 0)", pow(U, 0), {1., 1., 1., 1., 1., 1., 1., 1., 1.}},
      {"pow(U, 1)", pow(U, 1), {0., -0., 0.25, -0.5, 1., -1., 1.5, -2., qnan}},
      {"pow(U, -1)", pow(U, -1), {inf, -inf, 4., -2., 1., -1., 0.666666687, -0.5, qnan}},
      {"pow(U, 0.5)", pow(U, 0.5), {0., -0., 0.5, qnan, 1., qnan, 1.22474492, qnan, qnan}},
      {"pow(U, 3)", pow(U, 3), {0., -0., 0.015625, -0.125, 1., -1., 3.375, -8., qnan}},
      {"fa % fb", fa % fb, {1.5, 0.5, -0.5, -1.5, 0., -0., qnan, 3., qnan}},
      {"floor_divide(fa, fb)", floor_divide(fa, fb), {2., -3., -3., 2., 0., -0., qnan, 0., qnan}},
      {"clamp(E, -1, 1)", clamp(E, -1, 1), {0., -0., 1., -1., 0.5, -1., 1., 1., -1., qnan, 9.9999461e-41, 1., -9.99999994e-09}},
      {"clamp(E, 0.5)", clamp(E, 0.5), {0.5, 0.5, 1., 0.5, 0.5, 0.5, 3., inf, 0.5, qnan, 0.5, 1.00000002e+30, 0.5}},
      {"clamp(E, {}, 0)", clamp(E, {}, 0), {0., -0., 0., -1., 0., -2.5, 0., 0., -inf, qnan, 0., 0., -9.99999994e-09}},
      {"clamp(tensor({1, 5}), 0.5, 2.5)", clamp(tensor({1, 5}), 0.5, 2.5), {1., 2.5}},
      {"sub(fa, fb, 0.5)", sub(fa, fb, 0.5), {4.5, -6.5, 6.5, -4.5, -1.5, -1.5, inf, -inf, qnan}},
      {"round(tensor({1.005, 2.345, -1.25}), 1)", round(tensor({1.005, 2.345, -1.25}), 1), {1., 2.29999995, -1.20000005}},
      {"round(tensor({123.456}), -1)", round(tensor({123.456}), -1), {120.}},
      {"heaviside(tensor({-1., 0., 2.}), tensor({0.5, 0.5, 0.5}))", heaviside(tensor({-1., 0., 2.}), tensor({0.5, 0.5, 0.5})), {0., 0.5, 1.}},
      {"ldexp(tensor({1., 2.}), tensor({3, -1}))", ldexp(tensor({1., 2.}), tensor({3, -1})), {8., 1.}},
      {"maximum(E, tensor(0.))", maximum(E, tensor(0.)), {0., -0., 1., 0., 0.5, 0., 3., inf, 0., qnan, 9.9999461e-41, 1.00000002e+30, 0.}},
      {"E * 0", E * 0, {0., -0., 0., -0., 0., -0., 0., qnan, qnan, qnan, 0., 0., -0.}},
      {"2 - E", 2 - E, {2., 2., 1., 3., 1.5, 4.5, -1., -inf, inf, qnan, 2., -1.00000002e+30, 2.}},
      {"where(E > 0, E, 0.)", where(E > 0, E, 0.), {0., 0., 1., 0., 0.5, 0., 3., inf, 0., 0., 9.9999461e-41, 1.00000002e+30, 0.}},
  };
  // clang-format on
  for (const Recorded& row : table) {
    const Floats got = floats(row.result);
    REQUIRE(got.size() == row.expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(row.text << " element " << i << ": " << got[i] << " for " << row.expected[i]);
      CHECK(near(got[i], row.expected[i]));
    }
  }
}

TEST_CASE("integer functions") {
  const Tensor I = tensor({7, -7, 0, 3, -3}), J = tensor({2, 2, 5, -2, -2});
  CHECK(integers(remainder(I, J)) == Integers{1, 1, 0, -1, -1});
  CHECK(integers(fmod(I, J)) == Integers{1, -1, 0, 1, -1});
  CHECK(integers(floor_divide(I, J)) == Integers{3, -4, 0, -2, 1});
  CHECK(integers(div(I, J, "trunc")) == Integers{3, -3, 0, -1, 1});
  CHECK(integers(add(I, J, 3)) == Integers{13, -1, 15, -3, -9});
  CHECK(integers(rsub(I, 10)) == Integers{3, 17, 10, 7, 13});
  CHECK(integers(pow(I, 2)) == Integers{49, 49, 0, 9, 9});
  CHECK(integers(pow(tensor({2}), 63)) == Integers{std::numeric_limits<std::int64_t>::min()});
  CHECK(integers(pow(3, tensor({4, 0}))) == Integers{81, 1});
  CHECK(integers(I.clamp(-2, 2)) == Integers{2, -2, 0, 2, -2});
  CHECK(integers(clip(I, 0, 3)) == Integers{3, 0, 0, 3, 0});
  CHECK(integers(clamp(tensor({1, 2}), tensor({9}), tensor({0}))) == Integers{0, 0});
  CHECK(integers(I ^ J) == Integers{5, -5, 5, -3, 3});
  CHECK(integers(tensor({16, -16, 1}) >> 2) == Integers{4, -4, 0});
  CHECK(integers(where(I > 0, I, -I)) == Integers{7, 7, 0, 3, 3});
}

TEST_CASE("gcd and lcm of every integer dtype agree with Euclid's algorithm") {
  CHECK(integers(gcd(tensor({12, -18, 0, 0}), tensor({8, 27, 5, 0}))) == Integers{4, 9, 5, 0});
  CHECK(integers(lcm(tensor({4, 6, 0}), tensor({6, 8, 3}))) == Integers{12, 24, 0});
  for (const DType type : {uint8, int8, int16, int32, int64}) {
    Integers a, b, expected;
    std::int64_t x = 88172645463325252;
    const std::int64_t most = iinfo(type).max;
    for (int i = 0; i < 200; ++i) {
      x ^= x << 13, x ^= static_cast<std::int64_t>(static_cast<std::uint64_t>(x) >> 7), x ^= x << 17;
      a.push_back(i % 60 == 0 ? i / 2 : std::abs(x % most) / (1 + i % 7) * (is_signed(type) && i % 3 == 0 ? -1 : 1));
      b.push_back(std::abs((x >> 20) % most) & ~(std::int64_t{1} << (i % 5)));
      std::int64_t p = std::abs(a.back()), q = std::abs(b.back());
      while (q != 0) p = std::exchange(q, p % q);
      expected.push_back(p);
    }
    const Tensor got = gcd(from_data(a.data(), {200}).to(type), from_data(b.data(), {200}).to(type));
    CHECK(got.dtype() == type);
    CHECK(integers(got.to(int64)) == expected);
  }
}

TEST_CASE("frexp of normal and subnormal numbers, zeros and infinities") {
  const std::vector<double> numbers = {8, 0.3, 0, -0., 1e-310, -5e-324, 1.7e308, -1, inf, qnan};
  const auto [mantissa, exponent] = frexp(from_data(numbers.data(), {10}));
  CHECK(exponent.dtype() == int32);
  const std::vector<double> m = mantissa.to_vector<double>();
  const std::vector<std::int32_t> e = exponent.to_vector<std::int32_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    int expected = 0;
    const double part = std::frexp(numbers[i], &expected);
    CHECK((m[i] == part || (std::isnan(m[i]) && std::isnan(part))));
    CHECK(std::signbit(m[i]) == std::signbit(part));
    if (std::isfinite(numbers[i])) CHECK(e[i] == expected);
  }
}

TEST_CASE("halves round once in a composite, and multiply by numbers that are not rounded to a half") {
  const Tensor x = tensor({1., 3., 100., 0.1}).to(bfloat16);
  CHECK(floats((x * 0.1).to(float32)) == floats((x.to(float32) * 0.1).to(bfloat16).to(float32)));
  CHECK(floats(F::silu(x).to(float32)) == floats(F::silu(x.to(float32)).to(bfloat16).to(float32)));
  CHECK(floats(addcmul(x, x, x, 0.3).to(float32)) ==
        floats(addcmul(x.to(float32), x.to(float32), x.to(float32), 0.3).to(bfloat16).to(float32)));
}

TEST_CASE("dtypes of results") {
  const Tensor f32 = ones({2}), f16 = ones({2}, {float16}), i64 = ones({2}, {int64}), i32 = ones({2}, {int32}),
               b = ones({2}, {bool_});
  CHECK(float_power(i64, 2).dtype() == float64);
  CHECK(ldexp(f16, i64).dtype() == float16);
  CHECK(square(b).dtype() == int64);
  CHECK(pow(b, 2).dtype() == int64);
  CHECK(pow(i64, 0.5).dtype() == float32);
  CHECK(clamp(i64, 0.5).dtype() == float32);
  // A limit outside the dtype limits nothing, or is refused where it would leave nothing.
  CHECK(integers(clamp(tensor({100, 200}).to(uint8), -5, 300).to(int64)) == Integers{100, 200});
  CHECK_THROWS_WITH(clamp(tensor({1}).to(uint8), 300), "Clamp min value 300 is outside the representable range of Byte");
  CHECK_THROWS_AS(sub(i64, true), NotImplementedError);
  CHECK_THROWS_AS(sub(tensor({true}), i64), NotImplementedError);
  CHECK(where(b, 1, 0.5).dtype() == float32);
  CHECK(where(b, 1, 2).dtype() == int64);
  CHECK(masked_fill(i32, b, 2.5).dtype() == int32);
  CHECK(deg2rad(i32).dtype() == float32);
  CHECK(angle(i32).dtype() == float32);
  CHECK(isreal(f32).dtype() == bool_);
  CHECK(result_type(f16, 1.5) == float16);
  CHECK(result_type(i32, 1.5) == float32);
  CHECK(result_type(i32, tensor(1.5, {float64})) == float64);
  CHECK(can_cast(float64, float32));
  CHECK_FALSE(can_cast(float32, int64));
  CHECK_FALSE(can_cast(int64, bool_));
  CHECK(can_cast(bool_, uint8));
  CHECK(finfo(float32).eps == std::numeric_limits<float>::epsilon());
  CHECK(finfo(float64).max == std::numeric_limits<double>::max());
  CHECK(finfo(float16).max == 65504);
  CHECK(finfo(bfloat16).smallest_normal == std::numeric_limits<float>::min());
  CHECK(iinfo(int8).min == -128);
  CHECK(iinfo(uint8).max == 255);
  CHECK(iinfo(int64).max == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("in-place forms keep the dtype, the layout and the object") {
  Tensor x = tensor({{1., 2.}, {3., 4.}});
  Tensor row = x(1);
  CHECK(&row.mul_(2).add_(1) == &row);
  CHECK(floats(x) == Floats{1, 2, 7, 9});
  x.t().square_();
  CHECK(floats(x) == Floats{1, 4, 49, 81});
  x.clamp_(2, 50);
  CHECK(floats(x) == Floats{2, 4, 49, 50});
  CHECK(floats(tensor({1., 5.}).gt_(2)) == Floats{0, 1});
  CHECK(integers(tensor({6, 5}).bitwise_left_shift_(1)) == Integers{12, 10});
  CHECK(floats(tensor({4., 9.}).pow_(0.5)) == Floats{2, 3});
  CHECK(floats(tensor({1., 2.}).mul_(tensor({0.1, 0.2}, {float64}))) == Floats{0.1f, 0.4f});
  Tensor bytes = tensor({1, 2}, {uint8});
  bytes += 300;
  CHECK(integers(bytes.to(int64)) == Integers{45, 46});
}

TEST_CASE("refusals, in PyTorch's words") {
  using Catch::Matchers::Contains;
  const Tensor i = tensor({1, 2}), f = tensor({1., 2.}), b = tensor({true, false});
  CHECK_THROWS_AS(b - b, NotImplementedError);
  CHECK_THROWS_AS(-b, NotImplementedError);
  CHECK_THROWS_WITH(f & f, "\"bitwise_and_cpu\" not implemented for 'Float'");
  CHECK_THROWS_AS(b << b, NotImplementedError);
  CHECK_THROWS_WITH(pow(i, -1), "Integers to negative integer powers are not allowed.");
  CHECK_THROWS_WITH(Tensor(i).add_(1.5), "result type Float can't be cast to the desired output type Long");
  CHECK_THROWS_AS(Tensor(i).div_(2), Error);
  CHECK_THROWS_WITH(ones({3}).add_(ones({2, 3})), Contains("doesn't match the broadcast shape"));
  CHECK_THROWS_WITH(clamp(f, {}), Contains("None"));
  CHECK_THROWS_WITH(add(i, i, 0.5), "For integral input tensors, argument alpha must not be a floating point number.");
  CHECK_THROWS_WITH(where(f, f, f), "where expected condition to be a boolean tensor, but got a tensor with dtype Float");
  CHECK_THROWS_WITH(heaviside(f, i), "heaviside is not yet implemented for tensors with different dtypes.");
  CHECK_THROWS_WITH(isclose(f, i), "Float did not match Long");
  CHECK_THROWS_AS(F::gelu(i), NotImplementedError);
  CHECK_THROWS_AS(addcdiv(i, i, i), Error);
  CHECK_THROWS_WITH(lerp(f, f.to(float64), 0.5), "expected dtype Float for `end` but got dtype Double");
  CHECK_THROWS_AS(floor_divide(i, tensor({0, 1})).eval(), Error);
  CHECK_THROWS_AS((i % 0).eval(), Error);
  CHECK_THROWS_AS(Tensor(f).float_power_(2), Error);
  CHECK_THROWS_WITH(masked_fill(i.to(uint8), b, 300), "value cannot be converted to type uint8_t without overflow");
  Tensor m = ones({3, 3});
  CHECK_THROWS_WITH(m += m.t(), Contains("refer to a single memory location"));
  CHECK_THROWS_AS(m(slice(1, none)) += m(slice(0, -1)), Error);
  CHECK_NOTHROW(m(0) += m(1));
}

TEST_CASE("comparing whole tensors") {
  CHECK(allclose(tensor({1., 1.}), tensor(1.)));
  CHECK_FALSE(allclose(tensor({1., qnan}), tensor({1., qnan})));
  CHECK(allclose(tensor({1., qnan}), tensor({1., qnan}), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(tensor({inf}), tensor({1.})));
  CHECK(allclose(tensor({3, 4}), tensor({3, 4})));
  CHECK_FALSE(equal(ones({2}), ones({1, 2})));
  CHECK(equal(ones({2}), ones({2})));
  CHECK(equal(ones({2}), ones({2}, {int32})));
}

TEST_CASE("sum_to_size undoes a broadcast") {
  const Tensor x = ones({2, 3});
  CHECK(x.sum_to_size({1, 3}).sizes() == Sizes{1, 3});
  CHECK(floats(x.sum_to_size({3})) == Floats{2, 2, 2});
  CHECK(x.sum_to_size({}).item<float>() == 6);
  CHECK_THROWS_WITH(x.sum_to_size({2}), "size {[2]} is not expandable to size {[2, 3]}.");
}

TEST_CASE("a product and a sum round twice") {
  const float p = 1 + 1.0f / 4096, q = 1 - 1.0f / 4096;
  CHECK(floats(tensor({p}) * tensor({q}) - 1.0) == Floats{-5.960464477539063e-08f});
}

TEST_CASE("contiguous operands make a row-major result, whatever strides their dims of size one have") {
  const Tensor x = arange(60).reshape({2, 3, 10}).narrow(1, 2, 1).select(0, 0).unsqueeze(0).mT();  // [1, 10, 1]
  CHECK(x.strides() == Sizes{10, 1, 10});
  CHECK(maximum(x, x.clone()).strides() == Sizes{10, 1, 1});
}
