#include "ir/index.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "ir/error.h"

namespace braze::ir {
namespace {

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  require<ValueError>(!__builtin_add_overflow(a, b, &sum), "a size, stride or offset leaves 64 bits: {} + {}", a, b);
  return sum;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  require<ValueError>(!__builtin_mul_overflow(a, b, &product), "a size, stride or offset leaves 64 bits: {} * {}", a, b);
  return product;
}

// A divisor that is not positive belongs to a zero-size tensor, whose quotients nobody uses: 0 is as good as any.
std::int64_t divide(IndexOp op, std::int64_t a, std::int64_t b) {
  if (b <= 0) return 0;
  const std::int64_t quotient = a / b, remainder = a % b;
  if (op == IndexOp::floor_div) return quotient - (remainder < 0);
  return quotient + (remainder > 0);
}

// coefficient * atoms[0] * atoms[1] * ...; atoms are sorted, and neither numbers nor products.
struct Monomial {
  std::int64_t coefficient = 1;
  std::vector<IndexId> atoms;
};
using Polynomial = std::vector<Monomial>;

// Symbols by their numbers and before the rest, so that the order in which a caller came to them does not show.
class AtomOrder {
 public:
  explicit AtomOrder(const std::vector<IndexNode>& nodes) : nodes_(nodes) {}
  bool operator()(IndexId a, IndexId b) const { return key(a) < key(b); }

 private:
  std::pair<bool, std::int64_t> key(IndexId id) const {
    const IndexNode& node = nodes_[id];
    return node.op == IndexOp::symbol ? std::pair{false, node.number} : std::pair{true, std::int64_t{id}};
  }
  const std::vector<IndexNode>& nodes_;
};

// Products of sums are multiplied out up to this many terms; past it the sum stays an atom.
constexpr std::size_t most_terms = 64;

class Normaliser {
 public:
  explicit Normaliser(const std::vector<IndexNode>& nodes) : nodes_(nodes), order_(nodes) {}

  Polynomial polynomial(IndexId id) const {
    Polynomial terms;
    // Sums nest to the left, one term on each right.
    for (; nodes_[id].op == IndexOp::add; id = nodes_[id].a) terms.push_back(monomial(nodes_[id].b));
    terms.push_back(monomial(id));
    return terms;
  }

  Polynomial product(const Polynomial& a, const Polynomial& b) const {
    Polynomial terms;
    for (const Monomial& x : a)
      for (const Monomial& y : b) {
        Monomial term{checked_mul(x.coefficient, y.coefficient), x.atoms};
        term.atoms.insert(term.atoms.end(), y.atoms.begin(), y.atoms.end());
        std::sort(term.atoms.begin(), term.atoms.end(), order_);
        terms.push_back(std::move(term));
      }
    return terms;
  }

  // Sorted, one term for each product of atoms, none with coefficient 0; the number comes last.
  void normalise(Polynomial& terms) const {
    const auto before = [this](const Monomial& x, const Monomial& y) {
      if (x.atoms.size() != y.atoms.size()) return x.atoms.size() > y.atoms.size();
      return std::lexicographical_compare(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(), order_);
    };
    std::sort(terms.begin(), terms.end(), before);
    Polynomial merged;
    for (Monomial& term : terms) {
      if (!merged.empty() && merged.back().atoms == term.atoms)
        merged.back().coefficient = checked_add(merged.back().coefficient, term.coefficient);
      else
        merged.push_back(std::move(term));
    }
    std::erase_if(merged, [](const Monomial& m) { return m.coefficient == 0; });
    terms = std::move(merged);
  }

  // Takes `divisor` out of `term` if it divides it exactly.
  bool divide_exactly(Monomial& term, const Monomial& divisor) const {
    if (term.coefficient % divisor.coefficient != 0) return false;
    Monomial quotient{term.coefficient / divisor.coefficient, {}};
    if (!std::includes(term.atoms.begin(), term.atoms.end(), divisor.atoms.begin(), divisor.atoms.end(), order_)) return false;
    std::set_difference(term.atoms.begin(), term.atoms.end(), divisor.atoms.begin(), divisor.atoms.end(),
                        std::back_inserter(quotient.atoms), order_);
    term = std::move(quotient);
    return true;
  }

 private:
  Monomial monomial(IndexId id) const {
    Monomial result;
    std::vector<IndexId> pending{id};
    while (!pending.empty()) {
      const IndexId at = pending.back();
      const IndexNode& node = nodes_[at];
      pending.pop_back();
      if (node.op == IndexOp::mul) {
        pending.push_back(node.a);
        pending.push_back(node.b);
      } else if (node.op == IndexOp::number) {
        result.coefficient = checked_mul(result.coefficient, node.number);
      } else {
        result.atoms.push_back(at);
      }
    }
    std::sort(result.atoms.begin(), result.atoms.end(), order_);
    return result;
  }

  const std::vector<IndexNode>& nodes_;
  AtomOrder order_;
};

}  // namespace

IndexId IndexTable::intern(IndexNode node) {
  std::size_t hash = static_cast<std::size_t>(node.op);
  for (std::uint64_t part : {static_cast<std::uint64_t>(node.number), std::uint64_t{node.a}, std::uint64_t{node.b}})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u + (hash >> 29);
  const auto [first, last] = lookup_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (nodes_[it->second] == node) return it->second;
  nodes_.push_back(node);
  const auto id = static_cast<IndexId>(nodes_.size() - 1);
  lookup_.emplace(hash, id);
  return id;
}

IndexId IndexTable::number(std::int64_t value) { return intern({IndexOp::number, value}); }

IndexId IndexTable::of(Extent extent) {
  return extent.is_number() ? number(extent.number()) : intern({IndexOp::symbol, extent.symbol()});
}

namespace {

// The id of a normalised polynomial; `intern` makes nodes.
template <class Intern>
IndexId compose(const Polynomial& terms, const Intern& intern) {
  std::optional<IndexId> sum;
  for (const Monomial& term : terms) {
    std::optional<IndexId> product;
    for (IndexId atom : term.atoms) product = product ? intern(IndexNode{IndexOp::mul, 0, *product, atom}) : atom;
    if (!product) {
      product = intern(IndexNode{IndexOp::number, term.coefficient});
    } else if (term.coefficient != 1) {
      const IndexId coefficient = intern(IndexNode{IndexOp::number, term.coefficient});
      product = intern(IndexNode{IndexOp::mul, 0, *product, coefficient});
    }
    sum = sum ? intern(IndexNode{IndexOp::add, 0, *sum, *product}) : *product;
  }
  return sum ? *sum : intern(IndexNode{IndexOp::number, 0});
}

}  // namespace

IndexId IndexTable::add(IndexId a, IndexId b) {
  if (is_number(b, 0)) return a;
  if (is_number(a, 0)) return b;
  const Normaliser normaliser(nodes_);
  Polynomial terms = normaliser.polynomial(a);
  for (Monomial& term : normaliser.polynomial(b)) terms.push_back(std::move(term));
  normaliser.normalise(terms);
  return compose(terms, [this](const IndexNode& node) { return intern(node); });
}

IndexId IndexTable::mul(IndexId a, IndexId b) {
  if (is_number(b, 1)) return a;
  if (is_number(a, 1)) return b;
  const Normaliser normaliser(nodes_);
  Polynomial x = normaliser.polynomial(a), y = normaliser.polynomial(b);
  if (x.size() * y.size() > most_terms) {
    if (x.size() > 1) x = {Monomial{1, {a}}};
    if (y.size() > 1) y = {Monomial{1, {b}}};
  }
  Polynomial terms = normaliser.product(x, y);
  normaliser.normalise(terms);
  return compose(terms, [this](const IndexNode& node) { return intern(node); });
}

IndexId IndexTable::divide(IndexOp op, IndexId a, IndexId b) {
  const auto make = [this](const IndexNode& node) { return intern(node); };
  const IndexNode x = nodes_[a], y = nodes_[b];
  if (is_number(b, 1) || is_number(a, 0)) return a;
  if (x.op == IndexOp::number && y.op == IndexOp::number) return number(ir::divide(op, x.number, y.number));
  const Normaliser normaliser(nodes_);
  const Polynomial divisor = normaliser.polynomial(b);
  if (divisor.size() > 1 || divisor[0].coefficient <= 0) return a == b ? number(1) : intern({op, 0, a, b});
  // floor((b*q + r) / b) = q + floor(r / b), for ceil likewise.
  Polynomial whole, rest;
  for (Monomial& term : normaliser.polynomial(a)) (normaliser.divide_exactly(term, divisor[0]) ? whole : rest).push_back(term);
  normaliser.normalise(whole);
  normaliser.normalise(rest);
  const IndexId quotient = compose(whole, make);
  if (rest.empty()) return quotient;
  const IndexId remainder = compose(rest, make);
  const IndexNode left = nodes_[remainder];
  if (left.op == IndexOp::number && y.op == IndexOp::number) return add(quotient, number(ir::divide(op, left.number, y.number)));
  return add(quotient, intern({op, 0, remainder, b}));
}

IndexId IndexTable::floor_div(IndexId a, IndexId b) { return divide(IndexOp::floor_div, a, b); }
IndexId IndexTable::ceil_div(IndexId a, IndexId b) { return divide(IndexOp::ceil_div, a, b); }

// Operands that differ by a number fold into one; the others stay, sorted.
IndexId IndexTable::extremum(IndexOp op, IndexId a, IndexId b) {
  std::vector<IndexId> pending{a, b}, operands;
  while (!pending.empty()) {
    const IndexId at = pending.back();
    pending.pop_back();
    if (nodes_[at].op == op) {
      pending.push_back(nodes_[at].a);
      pending.push_back(nodes_[at].b);
      continue;
    }
    bool folded = false;
    for (IndexId& other : operands) {
      const bool numbers = nodes_[at].op == IndexOp::number && nodes_[other].op == IndexOp::number;
      const IndexNode difference = numbers ? nodes_[at] : nodes_[sub(at, other)];
      if (difference.op != IndexOp::number) continue;
      if ((difference.number < (numbers ? nodes_[other].number : 0)) == (op == IndexOp::min)) other = at;
      folded = true;
      break;
    }
    if (!folded) operands.push_back(at);
  }
  std::sort(operands.begin(), operands.end());
  IndexId result = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) result = intern({op, 0, result, operands[i]});
  return result;
}

IndexId IndexTable::min(IndexId a, IndexId b) { return extremum(IndexOp::min, a, b); }
IndexId IndexTable::max(IndexId a, IndexId b) { return extremum(IndexOp::max, a, b); }

IndexId IndexTable::product(std::span<const Extent> extents) {
  IndexId result = number(1);
  for (Extent extent : extents) result = mul(result, of(extent));
  return result;
}

void IndexTable::evaluate(std::span<const std::int64_t> symbols, std::span<std::int64_t> out) const {
  invariant(out.size() >= nodes_.size(), "{} index expressions do not fit {} places", nodes_.size(), out.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const IndexNode& node = nodes_[i];
    switch (node.op) {
      case IndexOp::number:
        out[i] = node.number;
        break;
      case IndexOp::symbol:
        invariant(static_cast<std::uint64_t>(node.number) < symbols.size(), "symbol {} has no value", node.number);
        out[i] = symbols[static_cast<std::size_t>(node.number)];
        break;
      case IndexOp::add:
        out[i] = checked_add(out[node.a], out[node.b]);
        break;
      case IndexOp::mul:
        out[i] = checked_mul(out[node.a], out[node.b]);
        break;
      case IndexOp::floor_div:
      case IndexOp::ceil_div:
        out[i] = ir::divide(node.op, out[node.a], out[node.b]);
        break;
      case IndexOp::min:
        out[i] = std::min(out[node.a], out[node.b]);
        break;
      case IndexOp::max:
        out[i] = std::max(out[node.a], out[node.b]);
        break;
    }
  }
}

namespace {

enum class Precedence { sum, product, atom };

// Depth is that of an expression somebody wrote out as a shape, not that of a graph; sums, the long ones, are a loop.
std::string text_of(const IndexTable& table, IndexId id, std::span<const std::string> names, Precedence at_least) {
  const IndexNode& node = table[id];
  const auto call = [&](std::string_view name) {
    return fmt::format("{}({}, {})", name, text_of(table, node.a, names, Precedence::sum),
                       text_of(table, node.b, names, Precedence::sum));
  };
  const auto parenthesised = [&](std::string text, Precedence own) { return own < at_least ? "(" + text + ")" : text; };
  switch (node.op) {
    case IndexOp::number:
      return parenthesised(fmt::format("{}", node.number), node.number < 0 ? Precedence::sum : Precedence::atom);
    case IndexOp::symbol: {
      const auto symbol = static_cast<std::size_t>(node.number);
      return symbol < names.size() ? names[symbol] : fmt::format("s{}", symbol);
    }
    case IndexOp::floor_div:
      return call("floor_div");
    case IndexOp::ceil_div:
      return call("ceil_div");
    case IndexOp::min:
      return call("min");
    case IndexOp::max:
      return call("max");
    case IndexOp::mul: {
      const IndexNode& right = table[node.b];
      const std::string left = text_of(table, node.a, names, Precedence::product);
      if (right.op != IndexOp::number) return left + "*" + text_of(table, node.b, names, Precedence::atom);
      if (right.number == -1) return parenthesised("-" + left, Precedence::sum);
      return parenthesised(fmt::format("{}*{}", right.number, left), right.number < 0 ? Precedence::sum : Precedence::product);
    }
    case IndexOp::add:
      break;
  }
  std::vector<IndexId> terms;
  for (; table[id].op == IndexOp::add; id = table[id].a) terms.push_back(table[id].b);
  terms.push_back(id);
  std::string text;
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
    std::string next = text_of(table, *term, names, Precedence::sum);
    if (text.empty()) {
      text = std::move(next);
    } else if (next.starts_with('-')) {
      text += " - " + next.substr(1);
    } else {
      text += " + " + next;
    }
  }
  return parenthesised(text, Precedence::sum);
}

}  // namespace

std::string IndexTable::text(IndexId id, std::span<const std::string> symbol_names) const {
  return text_of(*this, id, symbol_names, Precedence::sum);
}

}  // namespace braze::ir
