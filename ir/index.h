// Host-side integer expressions over symbols: what the sizes, strides and offsets of kernels and buffers are computed
// from, once per run of a Program. Interned and normalised (sums and products sorted, constants folded), so that equal
// ids are equal values: this is how lowering proves that two axes collapse. Products of sums are multiplied out (up to 64
// terms); a divisor is positive wherever its quotient is used, so that n*m / m is n. A divisor that is not evaluates to 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/extent.h"

namespace braze::ir {

enum class IndexOp : std::uint8_t { number, symbol, add, mul, floor_div, ceil_div, min, max };

using IndexId = std::uint32_t;

struct IndexNode {
  IndexOp op;
  std::int64_t number = 0;  // the number, or the symbol's id
  IndexId a = 0, b = 0;
  friend bool operator==(const IndexNode&, const IndexNode&) = default;
};

class IndexTable {
 public:
  IndexId number(std::int64_t value);
  IndexId of(Extent extent);
  IndexId add(IndexId a, IndexId b);
  IndexId sub(IndexId a, IndexId b) { return add(a, mul(b, number(-1))); }
  IndexId mul(IndexId a, IndexId b);
  IndexId floor_div(IndexId a, IndexId b);  // b > 0
  IndexId ceil_div(IndexId a, IndexId b);   // b > 0
  IndexId min(IndexId a, IndexId b);
  IndexId max(IndexId a, IndexId b);
  IndexId product(std::span<const Extent> extents);  // 1 for none

  const IndexNode& operator[](IndexId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  bool is_number(IndexId id, std::int64_t value) const { return nodes_[id].op == IndexOp::number && nodes_[id].number == value; }

  // Values of all expressions, given the symbols' values; `out` has size() elements. Operands precede users.
  // Throws ValueError when a product or sum leaves 64 bits.
  void evaluate(std::span<const std::int64_t> symbols, std::span<std::int64_t> out) const;

  // "n*m + 4"; symbols by name.
  std::string text(IndexId id, std::span<const std::string> symbol_names) const;

 private:
  IndexId intern(IndexNode node);
  IndexId divide(IndexOp op, IndexId a, IndexId b);
  IndexId extremum(IndexOp op, IndexId a, IndexId b);
  std::vector<IndexNode> nodes_;
  std::unordered_multimap<std::size_t, IndexId> lookup_;
};

}  // namespace braze::ir
