// Arithmetic of a nest's affines while it is being lowered: interning, and division with proof.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "passes/nest.h"

namespace braze::passes {

// What the graph's symbols stand for. A reshape demands that two products are equal; where one side is a symbol alone, that symbol
// becomes the other side's product, so that flattening [n, m] to [k] is known to give n * m elements.
class Extents {
 public:
  Extents(const ir::Graph& graph, ir::IndexTable& index);
  ir::IndexId of(ir::Extent extent) const {
    return extent.is_number() ? index_.number(extent.number()) : symbols_[extent.symbol()];
  }
  ir::IndexId product(const ir::Shape& shape) const;
  bool is_one(ir::Extent extent) const { return extent == ir::Extent(1); }
  ir::IndexTable& index() const { return index_; }

 private:
  ir::IndexTable& index_;
  std::vector<ir::IndexId> symbols_;
};

// The axes that a reshape leaves as they are, at both ends of the two shapes; between them it merges some and splits others, whose
// products are equal wherever the value has an element at all. Axes of one element are in none of the lists.
struct KeptAxes {
  KeptAxes(const Extents& extents, const ir::Shape& result, const ir::Shape& operand);
  std::vector<std::pair<std::size_t, std::size_t>> same;  // of the result, of the operand
  std::vector<std::size_t> merged, split;                 // of the result, of the operand
};

// numerator / divisor if it divides exactly, as polynomials.
std::optional<ir::IndexId> exact_quotient(ir::IndexTable& index, ir::IndexId numerator, ir::IndexId divisor);

// An axis that a reshape wants in two: extent = outer * inner.
struct SplitRequest {
  Variable axis;
  ir::IndexId inner;
};

class AffineArithmetic {
 public:
  AffineArithmetic(Nest& nest, ir::IndexTable& index, bool may_split)
      : nest_(nest), index_(index), may_split_(may_split), zero_(index.number(0)) {}

  AffineId intern(const Affine& affine);
  AffineId constant(ir::IndexId value) { return intern({{}, value}); }
  AffineId zero() { return constant(zero_); }
  AffineId variable(Variable v) { return intern({{{v, index_.number(1)}}, zero_}); }
  AffineId add(AffineId a, AffineId b);
  AffineId scale(AffineId a, ir::IndexId factor);
  // Quotient and remainder of a value known to be >= 0. Throws SplitRequest when splitting an axis would make both affine.
  std::pair<AffineId, AffineId> divide(AffineId a, ir::IndexId divisor);

 private:
  AffineId joined(const Affine& sum);
  bool below(const Affine& affine, ir::IndexId bound) const;
  AffineId derived(AffineId of, ir::IndexId divisor, bool remainder);
  void request_split(const Affine& rest, ir::IndexId divisor);

  Nest& nest_;
  ir::IndexTable& index_;
  bool may_split_;
  ir::IndexId zero_;
  std::map<std::vector<std::uint32_t>, AffineId> lookup_;
};

}  // namespace braze::passes
