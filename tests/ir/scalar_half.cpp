// f16 against the compiler's own _Float16, bf16 against its definition, both over all their numbers.
#include <bit>
#include <cmath>
#include <random>

#include "ir/half.h"
#include "tests/catch.h"

using namespace braze;

namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// f32 values around every rounding border of a half with `dropped` bits fewer: each half, the middle to the next, and their
// neighbours.
template <class Check>
void near_borders(int dropped, Check check) {
  for (std::uint32_t upper = 0; upper < (1u << (32 - dropped)); ++upper)
    for (std::uint32_t lower :
         {0u, 1u, (1u << (dropped - 1)) - 1, 1u << (dropped - 1), (1u << (dropped - 1)) + 1, (1u << dropped) - 1})
      check(float_of((upper << dropped) | lower));
}

}  // namespace

#ifdef __FLT16_MAX__
TEST_CASE("f16 to f32 is what the compiler's _Float16 gives, for all 65536") {
  int different = 0;
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const std::uint16_t bits = static_cast<std::uint16_t>(h);
    const float ours = to_f32(Float16{bits}), theirs = static_cast<float>(std::bit_cast<_Float16>(bits));
    if (std::isnan(theirs) ? !std::isnan(ours) : bits_of(ours) != bits_of(theirs)) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE("f32 to f16 rounds as the compiler's _Float16 does") {
  std::uint64_t different = 0;
  const auto check = [&](float x) {
    const _Float16 theirs = static_cast<_Float16>(x);
    const Float16 ours = to_f16(x);
    if (std::isnan(x) ? (ours.bits & 0x7e00) != 0x7e00 : ours.bits != std::bit_cast<std::uint16_t>(theirs)) ++different;
  };
  near_borders(13, check);
  // Subnormal halves: the middles lie lower in the f32.
  for (std::uint32_t h = 0; h < 0x400; ++h)
    for (int step : {-1, 0, 1})
      check(float_of(bits_of((static_cast<float>(h) + 0.5f) * 0x1p-24f) + static_cast<std::uint32_t>(step)));
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) check(float_of(random()));
  CHECK(different == 0);
}
#endif

TEST_CASE("Every half that is not NaN survives the way through f32") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const std::uint16_t bits = static_cast<std::uint16_t>(h);
    if (!std::isnan(to_f32(Float16{bits})) && to_f16(to_f32(Float16{bits})).bits != bits) FAIL("f16 " << bits);
    if (!std::isnan(to_f32(BFloat16{bits})) && to_bf16(to_f32(BFloat16{bits})).bits != bits) FAIL("bf16 " << bits);
    if (std::isnan(to_f32(Float16{bits})) && !std::isnan(to_f32(to_f16(to_f32(Float16{bits}))))) FAIL("f16 NaN " << bits);
    if (std::isnan(to_f32(BFloat16{bits})) && !std::isnan(to_f32(to_bf16(to_f32(BFloat16{bits}))))) FAIL("bf16 NaN " << bits);
  }
}

TEST_CASE("f32 to bf16 takes the nearest, of two the even one") {
  std::uint64_t wrong = 0;
  const auto check = [&](float x) {
    const BFloat16 rounded = to_bf16(x);
    if (std::isnan(x)) {
      wrong += !std::isnan(to_f32(rounded));
      return;
    }
    // In f64 the two candidates and their middle are exact; the one past the largest counts as 2^128.
    const std::uint16_t down = static_cast<std::uint16_t>(bits_of(x) >> 16), up = static_cast<std::uint16_t>(down + 1);
    const auto value = [](std::uint16_t b) {
      const double v = static_cast<double>(to_f32(BFloat16{b}));
      return std::isinf(v) ? std::copysign(0x1p128, v) : v;
    };
    std::uint16_t expected = down;
    if ((bits_of(x) & 0xffff) != 0) {
      const double below = std::fabs(x - value(down)), above = std::fabs(value(up) - x);
      expected = below < above ? down : above < below ? up : (down & 1) ? up : down;
    }
    wrong += rounded.bits != expected;
  };
  near_borders(16, check);
  std::mt19937 random(2);
  for (int i = 0; i < 1'000'000; ++i) check(float_of(random()));
  CHECK(wrong == 0);
}

TEST_CASE("f64 to a half goes through f32, as PyTorch's does") {
  // Just above the middle between two halves, but the middle itself once it is an f32: the tie goes to the even one.
  CHECK(to_f16(1.0 + 0x1p-11 + 0x1p-40).bits == to_f16(1.0f).bits);
  CHECK(to_bf16(1.0 + 0x1p-8 + 0x1p-40).bits == to_bf16(1.0f).bits);
  CHECK(to_f16(1e300).bits == 0x7c00);
  CHECK(to_f16(-65520.0).bits == 0xfc00);
  CHECK(to_f16(65519.0).bits == 0x7bff);
}
