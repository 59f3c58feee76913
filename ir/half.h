// f16 and bf16 as storage formats: bits, and exact conversions to and from f32 in portable integer arithmetic.
//
//  * To f32 is exact. f16 NaNs come out quiet, as `vcvtph2ps` makes them; bf16 is the upper half of an f32, bit for bit.
//  * From f32 rounds to nearest even, subnormals included; overflow gives infinity; a NaN keeps its sign and upper payload
//    bits and becomes quiet, as `vcvtps2ph` does.
//  * From f64 goes through f32, rounding twice, because PyTorch's Half(double) and BFloat16(double) do.
#pragma once

#include <bit>
#include <cstdint>

namespace braze {

struct Float16 {
  std::uint16_t bits = 0;
};

struct BFloat16 {
  std::uint16_t bits = 0;
};

constexpr float to_f32(Float16 h) {
  const std::uint32_t sign = std::uint32_t{h.bits & 0x8000u} << 16;
  const std::uint32_t magnitude = h.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity or NaN
    const std::uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Subnormal: an integer multiple of 2^-24, which every f32 of this size holds exactly.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

constexpr float to_f32(BFloat16 h) { return std::bit_cast<float>(std::uint32_t{h.bits} << 16); }

constexpr Float16 to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto pack = [&](std::uint32_t m) { return Float16{static_cast<std::uint16_t>(sign | m)}; };
  if (magnitude > 0x7f800000u) return pack(0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return pack(0x7c00u);  // 2^16 and above, infinity included
  if (magnitude >= 0x38800000u) {                      // 2^-14 and above: normal, or rounding up to infinity
    const std::uint32_t rebiased = magnitude - (112u << 23);
    return pack((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13);
  }
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 102u) return pack(0u);  // below 2^-25, half of the smallest subnormal
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t shift = 126u - exponent;  // 14 for 2^-14's neighbour, 24 for 2^-25
  const std::uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1u);
  return pack(kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u));
}

constexpr BFloat16 to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

constexpr Float16 to_f16(double value) { return to_f16(static_cast<float>(value)); }
constexpr BFloat16 to_bf16(double value) { return to_bf16(static_cast<float>(value)); }

}  // namespace braze
