// Patterns: small run-time trees that both match values of a graph and build them.
//
//   const Pattern x = any(0), y = any(1);
//   x + y, exp(-x), where(x, y, y), reshape(reshape(x)), x * 1
//
//  * any(i) matches every value, the same one at each occurrence; lit(i) a value whose elements all equal one constant (a splat:
//    constant, or constant behind expand and the like); a number a splat of exactly these bits (0.0 is not -0.0; in an integer
//    type -0.0 means 0, and a number that the type does not have matches nothing).
//  * Every row of ir/ops.def is a builder here; folded() is any elementwise op whose operands are all splats.
//  * A commutative op matches in either order of its operands. To match, attributes are ignored. A pattern with attributes cannot be built: the rule's right side is then a function.
#pragma once

#include <concepts>
#include <memory>
#include <vector>

#include "ir/op.h"

namespace braze::passes {

class Pattern {
 public:
  enum class Kind : std::uint8_t { any, literal, number, op, folded };

  Pattern(double number) : kind(Kind::number), number(number) {}  // NOLINT: `x * 1` reads as it should
  Pattern(ir::Op op, std::vector<Pattern> in)
      : kind(Kind::op), op(op), in(std::make_shared<const std::vector<Pattern>>(std::move(in))) {}
  Pattern(Kind kind, int slot) : kind(kind), slot(slot) {}

  // The op nodes in it.
  std::vector<ir::Op> ops() const {
    std::vector<ir::Op> found;
    collect(found);
    return found;
  }

  Kind kind;
  ir::Op op{};
  int slot = 0;
  double number = 0;
  std::shared_ptr<const std::vector<Pattern>> in;

 private:
  void collect(std::vector<ir::Op>& found) const {
    if (kind != Kind::op) return;
    found.push_back(op);
    for (const Pattern& operand : *in) operand.collect(found);
  }
};

namespace patterns {

inline Pattern any(int slot) { return {Pattern::Kind::any, slot}; }
inline Pattern lit(int slot) { return {Pattern::Kind::literal, slot}; }
// An elementwise op, cast included, on splats alone.
inline Pattern folded() { return {Pattern::Kind::folded, 0}; }

#define BRAZE_UNARY(name, accepts, result) \
  inline Pattern name(const Pattern& a) { return {ir::Op::name, {a}}; }
#define BRAZE_BINARY(name, accepts, result, algebra) \
  inline Pattern name(const Pattern& a, const Pattern& b) { return {ir::Op::name, {a, b}}; }
#define BRAZE_TERNARY(name, accepts, result) \
  inline Pattern name(const Pattern& a, const Pattern& b, const Pattern& c) { return {ir::Op::name, {a, b, c}}; }
#define BRAZE_SHAPED(name, attributes, results)         \
  template <class... P>                                 \
    requires(std::same_as<P, Pattern> && ...)           \
  Pattern name(const P&... in) {                        \
    return {ir::Op::name, std::vector<Pattern>{in...}}; \
  }
#include "ir/ops.def"

}  // namespace patterns

inline Pattern operator-(const Pattern& a) { return patterns::neg(a); }
inline Pattern operator+(const Pattern& a, const Pattern& b) { return patterns::add(a, b); }
inline Pattern operator-(const Pattern& a, const Pattern& b) { return patterns::sub(a, b); }
inline Pattern operator*(const Pattern& a, const Pattern& b) { return patterns::mul(a, b); }
inline Pattern operator/(const Pattern& a, const Pattern& b) { return patterns::div(a, b); }

}  // namespace braze::passes
