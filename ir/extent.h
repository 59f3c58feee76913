// Extent: a size, offset, start, step or stride; either a number or a symbol that a Program gets as an argument.
//
// Two extents are equal only where an op demands it, never because two integers happen to be the same: the engine gives
// every extent that no op fixes its own symbol, so one kernel serves all of them.
#pragma once

#include <cstdint>
#include <limits>

#include "ir/inline_vector.h"

namespace braze::ir {

class Extent {
 public:
  constexpr Extent() = default;
  constexpr Extent(std::int64_t value) : raw_(value) {}  // NOLINT: a number is an extent
  static constexpr Extent symbol(std::uint32_t id) {
    Extent e;
    e.raw_ = symbol_base + static_cast<std::int64_t>(id);
    return e;
  }

  // Numbers within 2^32 of the minimum are reserved for symbols; no tensor has such an extent.
  constexpr bool is_symbol() const { return raw_ < symbol_base + (std::int64_t{1} << 32); }
  constexpr bool is_number() const { return !is_symbol(); }
  constexpr std::int64_t number() const { return raw_; }                                             // requires is_number()
  constexpr std::uint32_t symbol() const { return static_cast<std::uint32_t>(raw_ - symbol_base); }  // requires is_symbol()
  constexpr std::int64_t bits() const { return raw_; }
  friend constexpr bool operator==(Extent, Extent) = default;

 private:
  static constexpr std::int64_t symbol_base = std::numeric_limits<std::int64_t>::min();
  std::int64_t raw_ = 0;
};

using Shape = InlineVector<Extent, 5>;

inline constexpr int max_rank = 64;  // axes are a 64-bit mask

}  // namespace braze::ir
