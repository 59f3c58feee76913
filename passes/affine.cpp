#include "passes/affine.h"

#include <algorithm>

#include "ir/error.h"

namespace braze::passes {

using ir::Extent;
using ir::IndexId;
using ir::IndexOp;
using ir::IndexTable;

std::optional<IndexId> exact_quotient(IndexTable& index, IndexId numerator, IndexId divisor) {
  if (index.is_number(divisor, 0)) return std::nullopt;
  const IndexId quotient = index.floor_div(numerator, divisor);
  if (index.mul(quotient, divisor) != numerator) return std::nullopt;
  return quotient;
}

Extents::Extents(const ir::Graph& graph, IndexTable& index) : index_(index), symbols_(graph.symbols.size()) {
  std::vector<bool> solved(symbols_.size());
  for (std::uint32_t s = 0; s < symbols_.size(); ++s) symbols_[s] = index.of(Extent::symbol(s));
  // The symbol that `side` consists of, besides numbers 1, if it may still be solved for.
  const auto lone_symbol = [&](const ir::Shape& side) -> std::optional<std::uint32_t> {
    std::optional<std::uint32_t> found;
    for (const Extent e : side) {
      if (is_one(e)) continue;
      if (found || e.is_number() || solved[e.symbol()]) return std::nullopt;
      found = e.symbol();
    }
    return found;
  };
  // Symbols that a solution reads are final: nothing that was solved changes its meaning later.
  const auto solve = [&](std::uint32_t symbol, const ir::Shape& other) {
    for (const Extent e : other)
      if (e.is_symbol() && e.symbol() == symbol) return;
    symbols_[symbol] = product(other);
    solved[symbol] = true;
    for (const Extent e : other)
      if (e.is_symbol()) solved[e.symbol()] = true;
  };
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    const ir::Node& node = graph[id];
    if (node.op != ir::Op::reshape) continue;
    const ir::Shape& from = graph.type(node.in[0]).shape;
    const ir::Shape& to = node.out[0].shape;
    if (product(from) == product(to)) continue;
    if (const auto symbol = lone_symbol(to))
      solve(*symbol, from);
    else if (const auto other = lone_symbol(from))
      solve(*other, to);
  }
}

IndexId Extents::product(const ir::Shape& shape) const {
  IndexId result = index_.number(1);
  for (const Extent e : shape) result = index_.mul(result, of(e));
  return result;
}

KeptAxes::KeptAxes(const Extents& extents, const ir::Shape& result, const ir::Shape& operand) {
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!extents.is_one(result[i])) merged.push_back(i);
  for (std::size_t i = 0; i < operand.size(); ++i)
    if (!extents.is_one(operand[i])) split.push_back(i);
  const auto equal = [&](std::size_t a, std::size_t b) { return extents.of(result[a]) == extents.of(operand[b]); };
  while (!merged.empty() && !split.empty() && equal(merged.back(), split.back())) {
    same.emplace_back(merged.back(), split.back());
    merged.pop_back();
    split.pop_back();
  }
  std::size_t first = 0;
  for (; first < std::min(merged.size(), split.size()) && equal(merged[first], split[first]); ++first)
    same.emplace_back(merged[first], split[first]);
  merged.erase(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(first));
  split.erase(split.begin(), split.begin() + static_cast<std::ptrdiff_t>(first));
}

AffineId AffineArithmetic::intern(const Affine& affine) {
  std::vector<std::uint32_t> key{affine.offset};
  for (const Affine::Term& term : affine.terms) {
    key.push_back(term.variable);
    key.push_back(term.coefficient);
  }
  const auto [at, fresh] = lookup_.emplace(std::move(key), static_cast<AffineId>(nest_.affines.size()));
  if (fresh) nest_.affines.push_back(affine);
  return at->second;
}

AffineId AffineArithmetic::add(AffineId a, AffineId b) {
  const Affine x = nest_.affines[a], y = nest_.affines[b];
  Affine sum{{}, index_.add(x.offset, y.offset)};
  std::size_t i = 0, j = 0;
  while (i < x.terms.size() || j < y.terms.size()) {
    if (j == y.terms.size() || (i < x.terms.size() && x.terms[i].variable < y.terms[j].variable)) {
      sum.terms.push_back(x.terms[i++]);
    } else if (i == x.terms.size() || y.terms[j].variable < x.terms[i].variable) {
      sum.terms.push_back(y.terms[j++]);
    } else {
      const IndexId coefficient = index_.add(x.terms[i].coefficient, y.terms[j].coefficient);
      if (coefficient != zero_) sum.terms.push_back({x.terms[i].variable, coefficient});
      ++i, ++j;
    }
  }
  return joined(sum);
}

// A quotient times its divisor, and the remainder, are what was divided.
AffineId AffineArithmetic::joined(const Affine& sum) {
  for (std::size_t r = 0; r < sum.terms.size(); ++r) {
    if (sum.terms[r].variable < derived_base) continue;
    const Derived remainder = nest_.derived[sum.terms[r].variable - derived_base];
    if (!remainder.remainder) continue;
    for (std::size_t q = 0; q < sum.terms.size(); ++q) {
      if (sum.terms[q].variable < derived_base) continue;
      const Derived quotient = nest_.derived[sum.terms[q].variable - derived_base];
      if (quotient.remainder || quotient.of != remainder.of || quotient.divisor != remainder.divisor) continue;
      if (sum.terms[q].coefficient != index_.mul(sum.terms[r].coefficient, remainder.divisor)) continue;
      Affine rest{{}, sum.offset};
      for (std::size_t i = 0; i < sum.terms.size(); ++i)
        if (i != q && i != r) rest.terms.push_back(sum.terms[i]);
      return add(intern(rest), scale(remainder.of, sum.terms[r].coefficient));
    }
  }
  return intern(sum);
}

AffineId AffineArithmetic::scale(AffineId a, IndexId factor) {
  if (factor == zero_) return zero();
  const Affine x = nest_.affines[a];
  Affine product{{}, index_.mul(x.offset, factor)};
  for (const Affine::Term& term : x.terms) product.terms.push_back({term.variable, index_.mul(term.coefficient, factor)});
  return intern(product);
}

// A chain: the outermost term's coefficient times its extent is the bound, what is left is below that coefficient. An axis that
// runs backwards counts as one that runs forwards from its far end. A number is a bound for numbers.
bool AffineArithmetic::below(const Affine& affine, IndexId bound) const {
  std::vector<Affine::Term> left(affine.terms.begin(), affine.terms.end());
  IndexId start = affine.offset;
  const IndexId minus_one = index_.number(-1);
  for (bool found = true; found && !left.empty();) {
    found = false;
    for (std::size_t i = 0; i < left.size() && !found; ++i) {
      if (left[i].variable >= derived_base) continue;
      const IndexId extent = nest_.axes[left[i].variable].extent, negated = index_.mul(left[i].coefficient, minus_one);
      const bool forwards = index_.mul(left[i].coefficient, extent) == bound;
      if (!forwards && index_.mul(negated, extent) != bound) continue;
      if (!forwards) start = index_.sub(start, index_.mul(negated, index_.sub(extent, index_.number(1))));
      bound = forwards ? left[i].coefficient : negated;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      found = true;
    }
  }
  const ir::IndexNode& limit = index_[bound];
  const ir::IndexNode& offset = index_[start];
  if (left.empty() && start == zero_) return true;
  if (limit.op != IndexOp::number || offset.op != IndexOp::number || offset.number < 0) return false;
  std::int64_t greatest = offset.number;
  for (const Affine::Term& term : left) {
    if (term.variable >= derived_base) return false;
    const ir::IndexNode& coefficient = index_[term.coefficient];
    const ir::IndexNode& extent = index_[nest_.axes[term.variable].extent];
    if (coefficient.op != IndexOp::number || extent.op != IndexOp::number || coefficient.number < 0) return false;
    if (extent.number == 0) continue;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(coefficient.number, extent.number - 1, &reach) || __builtin_add_overflow(greatest, reach, &greatest))
      return false;
  }
  return greatest < limit.number;
}

AffineId AffineArithmetic::derived(AffineId of, IndexId divisor, bool remainder) {
  const Derived wanted{of, divisor, remainder};
  const auto at = std::find(nest_.derived.begin(), nest_.derived.end(), wanted);
  const auto number = static_cast<Variable>(at - nest_.derived.begin());
  if (at == nest_.derived.end()) nest_.derived.push_back(wanted);
  return variable(derived_base + number);
}

void AffineArithmetic::request_split(const Affine& rest, IndexId divisor) {
  for (const Affine::Term& term : rest.terms) {
    if (term.variable >= derived_base) continue;
    const auto inner = exact_quotient(index_, divisor, term.coefficient);
    if (!inner || index_.is_number(*inner, 1)) continue;
    const IndexId extent = nest_.axes[term.variable].extent;
    if (*inner != extent && exact_quotient(index_, extent, *inner)) throw SplitRequest{term.variable, *inner};
  }
}

std::pair<AffineId, AffineId> AffineArithmetic::divide(AffineId a, IndexId divisor) {
  if (index_.is_number(divisor, 1)) return {a, zero()};
  const Affine whole = nest_.affines[a];
  Affine quotient{{}, zero_}, rest{{}, zero_};
  for (const Affine::Term& term : whole.terms) {
    if (const auto q = exact_quotient(index_, term.coefficient, divisor))
      quotient.terms.push_back({term.variable, *q});
    else
      rest.terms.push_back(term);
  }
  // Sums nest to the left, one term on each right.
  const auto place = [&](IndexId term) {
    if (const auto q = exact_quotient(index_, term, divisor))
      quotient.offset = index_.add(quotient.offset, *q);
    else
      rest.offset = index_.add(rest.offset, term);
  };
  IndexId offset = whole.offset;
  for (; index_[offset].op == IndexOp::add; offset = index_[offset].a) place(index_[offset].b);
  place(offset);
  const AffineId q = intern(quotient), r = intern(rest);
  if (below(rest, divisor)) return {q, r};
  if (may_split_) request_split(rest, divisor);
  // Of the whole, which is known not to be negative; the rest alone may be.
  return {derived(a, divisor, false), derived(a, divisor, true)};
}

}  // namespace braze::passes
