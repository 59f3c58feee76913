// What the derivative_*.cpp files share. Each row of ir/ops.def owes one Rule, rule_<name>; a row without one does not link.
#pragma once

#include <optional>

#include "passes/derivative.h"

namespace braze::passes {

// Where an elementwise op was applied and g, what its derivative in one operand is applied to. Halves compute in f32, as the op does.
struct At {
  const Application& a;
  ir::Expr g;

  ir::Expr x(std::size_t operand = 0) const { return widened(a.operand(operand)); }
  ir::Expr y() const { return widened(a.result()); }

 private:
  ir::Expr widened(const ir::Expr& e) const { return ir::formula::cast(e, g.dtype()); }
};

struct Rule {
  // An elementwise op's derivative in an operand is a factor for each element: the same formula maps a cotangent of the result to
  // one of the operand and a tangent of the operand to one of the result. None: the derivative is zero.
  using Partial = ir::Expr (*)(const At& at);
  using Pull = void (*)(const Application& a, std::span<const ir::Expression> g, Cotangents& operands);
  using Push = void (*)(const Application& a, std::span<const ir::Expression> t, std::span<ir::Expression> results);

  enum class Kind : std::uint8_t {
    constant,  // no derivative, or one that is zero wherever there is one
    map,       // elementwise: `partials`
    general    // `pull` and `push`
  } kind = Kind::constant;
  Partial partials[3] = {};
  std::uint8_t refused = 0;  // operands in which the derivative has no formula
  bool exact = false;        // the map is made of moves and signs, so that a half needs no wider type
  Pull pull = nullptr;
  Push push = nullptr;
};

constexpr Rule constant() { return {}; }
constexpr Rule refused() { return {.kind = Rule::Kind::map, .refused = 7}; }
constexpr Rule map(Rule::Partial first, Rule::Partial second = nullptr, Rule::Partial third = nullptr) {
  return {.kind = Rule::Kind::map, .partials = {first, second, third}};
}
constexpr Rule moves(Rule::Partial first, Rule::Partial second = nullptr, Rule::Partial third = nullptr) {
  Rule rule = map(first, second, third);
  rule.exact = true;
  return rule;
}
// The formula of the second operand alone.
constexpr Rule map_second(Rule::Partial second) {
  Rule rule = map(nullptr, second);
  rule.refused = 1;
  return rule;
}
constexpr Rule general(Rule::Pull pull, Rule::Push push) { return {.kind = Rule::Kind::general, .pull = pull, .push = push}; }

// Linear in its float operands together: the op itself, applied to their tangents; operands that are no floats stay.
void push_linear(const Application& a, std::span<const ir::Expression> t, std::span<ir::Expression> results);
constexpr Rule linear(Rule::Pull pull) { return general(pull, push_linear); }

#define BRAZE_UNARY(name, accepts, result) extern const Rule rule_##name;
#define BRAZE_BINARY(name, accepts, result, algebra) extern const Rule rule_##name;
#define BRAZE_TERNARY(name, accepts, result) extern const Rule rule_##name;
#define BRAZE_SHAPED(name, attributes, results) extern const Rule rule_##name;
#define BRAZE_ROUTINE(name, attributes, results) extern const Rule rule_##name;
#include "ir/ops.def"

// The running cotangent of an operand, zeros where there is none yet.
ir::Expr running(const Application& a, const Cotangents& operands, std::size_t operand);

// a[k] = b[k] + c[k] * a[k - 1] along an axis (or + 1, from the end): linear in b, a product in c, and nothing is divided, so that
// zeros are as good as other numbers.
ir::Expr linear_recurrence(const ir::Expr& c, const ir::Expr& b, std::size_t axis, bool from_end);
// The elements moved by one place towards the end (or the beginning) of an axis; the free place gets `fill`.
ir::Expr shifted(const ir::Expr& x, std::size_t axis, bool towards_beginning, double fill);

// The sum of two of which each may be none.
ir::Expr plus(const ir::Expr& a, const ir::Expr& b);

// ---- matrices, in the last two axes

ir::Expr lower_part(const ir::Expr& x, int below = 0);  // elements at least `below` (0 or 1) under the diagonal; the others are 0
ir::Expr upper_part(const ir::Expr& x, int above = 0);
ir::Expr on_diagonal(const ir::Expr& x);            // a mask
ir::Expr diagonal(const ir::Expr& x);               // [..., n, n] -> [..., n]
ir::Expr diagonal_matrix(const ir::Expr& v);        // [..., n] -> [..., n, n]
ir::Expr rows(const ir::Expr& v, ir::Extent n);     // [..., k] -> [..., n, k]: v in every row
ir::Expr columns(const ir::Expr& v, ir::Extent n);  // [..., k] -> [..., k, n]: v in every column
ir::Expr differences(const ir::Expr& v);            // v[k] - v[j] at row j and column k
// x / e off the diagonal, where e is 0; zeros on it.
ir::Expr divided_off_diagonal(const ir::Expr& x, const ir::Expr& e);

}  // namespace braze::passes
