// Host arrays for tests of graph passes: special values of each dtype, and equality of bits in which all NaNs are one.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "ir/graph.h"
#include "ir/meaning.h"

namespace braze::test {

// Bits of the values at which ops misbehave, if any do.
inline std::vector<std::uint64_t> special_values(DType type) {
  switch (type) {
    case DType::boolean:
      return {0, 1};
    case DType::f16:
      return {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x8001, 0x7bff, 0x4100, 0xb555};
    case DType::bf16:
      return {0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 1, 0x8001, 0x7f7f, 0x4020, 0xbeab};
    case DType::f32:
      return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
              0x7fc00000, 1,          0x80000001, 0x7f7fffff, 0x40200000, 0xbeaaaaab};
    case DType::f64:
      return {
          0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
          1, 0x8000000000000001, 0x7fefffffffffffff, 0x4004000000000000, 0xbfd5555555555555};
    default: {
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * size_of(type));
      return {0, 1, mask, mask >> 1, (mask >> 1) + 1, 2, 7, 100, mask - 2};
    }
  }
}

inline void put(ir::HostArray& array, std::int64_t i, std::uint64_t bits) {
  const auto size = static_cast<std::size_t>(size_of(array.dtype));
  std::memcpy(array.data.get() + static_cast<std::size_t>(i) * size, &bits, size);
}

inline std::uint64_t get(const ir::HostArray& array, std::int64_t i) {
  const auto size = static_cast<std::size_t>(size_of(array.dtype));
  std::uint64_t bits = 0;
  std::memcpy(&bits, array.data.get() + static_cast<std::size_t>(i) * size, size);
  return bits;
}

inline bool same_bits(const ir::HostArray& a, const ir::HostArray& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  const auto is_nan = [&](std::uint64_t bits) {
    return is_float(a.dtype) && ir::evaluate(ir::Op::isnan, a.dtype, {&bits, 1}) != 0;
  };
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (get(a, i) != get(b, i) && !(is_nan(get(a, i)) && is_nan(get(b, i)))) return false;
  return true;
}

// Special values of the dtype in random order.
inline ir::HostArray special_array(DType type, std::vector<std::int64_t> sizes, std::mt19937& random) {
  ir::HostArray array = ir::make_host_array(type, std::move(sizes));
  const auto values = special_values(type);
  for (std::int64_t i = 0; i < array.elements(); ++i) put(array, i, values[random() % values.size()]);
  return array;
}

}  // namespace braze::test
