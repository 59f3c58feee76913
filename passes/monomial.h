// Products of a number and symbols: what element counts and strides of dense tensors are. Equal monomials are equal for all
// values of the symbols; nothing is known of unequal ones.
#pragma once

#include <algorithm>
#include <optional>

#include "ir/extent.h"

namespace braze::passes {

class Monomial {
 public:
  Monomial() = default;
  Monomial(ir::Extent e) {  // NOLINT: an extent is one
    if (e.is_symbol())
      symbols_.push_back(e.symbol());
    else
      number_ = e.number();
  }

  // nullopt on overflow.
  friend std::optional<Monomial> operator*(const Monomial& a, const Monomial& b) {
    Monomial product = a;
    if (__builtin_mul_overflow(a.number_, b.number_, &product.number_)) return std::nullopt;
    for (std::uint32_t s : b.symbols_) product.symbols_.push_back(s);
    std::sort(product.symbols_.begin(), product.symbols_.end());
    return product;
  }

  // a / b, if b divides a whatever the symbols are. b is not 0.
  friend std::optional<Monomial> operator/(const Monomial& a, const Monomial& b) {
    if (b.number_ == 0 || a.number_ % b.number_ != 0) return std::nullopt;
    Monomial quotient;
    quotient.number_ = a.number_ / b.number_;
    std::size_t next = 0;
    for (std::uint32_t s : a.symbols_) {
      if (next < b.symbols_.size() && b.symbols_[next] == s)
        ++next;
      else
        quotient.symbols_.push_back(s);
    }
    if (next != b.symbols_.size()) return std::nullopt;
    return quotient;
  }

  bool is_number() const { return symbols_.empty(); }
  std::int64_t number() const { return number_; }
  std::size_t symbol_count() const { return symbols_.size(); }
  Monomial negated() const {
    Monomial result = *this;
    result.number_ = -number_;
    return result;
  }

  // As one extent: a number, or a symbol with factor 1.
  std::optional<ir::Extent> extent() const {
    if (symbols_.empty()) return ir::Extent(number_);
    if (number_ == 1 && symbols_.size() == 1) return ir::Extent::symbol(symbols_[0]);
    return std::nullopt;
  }

  friend bool operator==(const Monomial&, const Monomial&) = default;

 private:
  std::int64_t number_ = 1;
  InlineVector<std::uint32_t, 4> symbols_;  // sorted
};

// The number of elements of a shape.
inline std::optional<Monomial> elements(std::span<const ir::Extent> shape) {
  std::optional<Monomial> product = Monomial();
  for (const ir::Extent e : shape) {
    product = *product * Monomial(e);
    if (!product) return std::nullopt;
  }
  return product;
}

}  // namespace braze::passes
