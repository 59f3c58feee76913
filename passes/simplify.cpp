// Rules for elementwise ops. Laws: the type stays, the bits stay (NaN payloads apart) unless the rule is fast_math, the weight
// falls. x + 0 is no identity (of -0 it makes +0), x + -0 and x - 0 are. In an integer type -0.0 is 0.
#include <bit>

#include "ir/meaning.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace braze::passes {
namespace {

using ir::Op;
using ir::Value;

DType operand_type(const Match& m) { return m.type(m[0]).dtype; }

// Conditions on the first slot's dtype.
bool whole(const Match& m) { return !is_float(operand_type(m)); }  // integers and boolean
bool boolean(const Match& m) { return operand_type(m) == DType::boolean; }
bool is_unsigned(const Match& m) { return !is_signed(operand_type(m)); }
bool has_sign(const Match& m) { return is_signed(operand_type(m)); }
// Halves round the inner result first.
bool not_half(const Match& m) { return !is_half(operand_type(m)); }

std::optional<Value> fold(const Match& m) {
  const ir::Node& node = m.graph().node(m.root);
  InlineVector<std::uint64_t, 3> bits;
  DType type{};
  for (const Value v : node.in) {
    const ir::Literal literal = *splat(m.graph(), v);
    bits.push_back(literal.bits);
    type = literal.type;
  }
  if (node.op == Op::cast) return m.splat({m.dtype(), ir::evaluate_cast(type, m.dtype(), bits[0])}, m.type().shape);
  ir::Fault fault = ir::Fault::none;
  const ir::Literal result{m.dtype(), ir::evaluate(node.op, type, bits, &fault)};
  if (fault != ir::Fault::none) return std::nullopt;  // raised when it runs, if it runs
  return m.splat(result, m.type().shape);
}

// Whether `to` has every value of `from`.
bool holds(DType to, DType from) {
  if (from == to || from == DType::boolean) return true;
  if (to == DType::boolean) return false;
  if (is_float(from)) return (is_half(from) && (to == DType::f32 || to == DType::f64)) || (from == DType::f32 && to == DType::f64);
  const int bits = 8 * size_of(from) - is_signed(from);
  switch (to) {
    case DType::f16:
      return bits <= 11;
    case DType::bf16:
      return bits <= 8;
    case DType::f32:
      return bits <= 24;
    case DType::f64:
      return bits <= 53;
    default:
      return is_signed(to) && bits < 8 * size_of(to);
  }
}

// The middle type adds nothing if it holds all of the first, or, among integers, keeps the bits that the last one keeps.
std::optional<Value> shorten_casts(const Match& m) {
  const DType first = operand_type(m), middle = m.type(m.in(m.root)).dtype, last = m.dtype();
  const bool low_bits = is_integer(first) && is_integer(middle) && is_integer(last) && size_of(middle) >= size_of(last);
  if (!holds(middle, first) && !low_bits) return std::nullopt;
  return m.make(Op::cast, {m[0]}, ir::Cast{last});
}

// x / 2^k is x * 2^-k, rounded alike, as long as the type has 2^-k as a normal number.
std::optional<Value> divide_by_power(const Match& m) {
  const ir::Literal& divisor = m.constant(1);
  const std::uint64_t bits = ir::evaluate(Op::reciprocal, divisor.type, std::array{divisor.bits});
  const auto is_power = [&](std::uint64_t b) {
    const double value = std::bit_cast<double>(ir::evaluate_cast(divisor.type, DType::f64, b));
    int exponent;
    const int least = divisor.type == DType::f16 ? -14 : divisor.type == DType::f64 ? -1022 : -126;
    return std::isfinite(value) && std::fabs(std::frexp(value, &exponent)) == 0.5 && exponent - 1 >= least;
  };
  if (!is_power(divisor.bits) || !is_power(bits)) return std::nullopt;
  return m.make(Op::mul, {m[0], m.splat({divisor.type, bits}, m.type().shape)});
}

std::optional<Value> choose(const Match& m) { return m[m.constant(0).bits != 0 ? 1 : 2]; }

std::vector<Rule> sign_and_logic_rules() {
  using namespace patterns;
  const Pattern x = any(0), y = any(1), z = any(2), w = any(3), c = lit(0);
  return {
      {"fold", folded(), fold},

      {"neg-neg", -(-x), x},
      {"abs-abs", abs(abs(x)), abs(x)},
      {"abs-neg", abs(-x), abs(x), has_sign},
      {"abs-unsigned", abs(x), x, is_unsigned},
      {"add-neg", x + -y, x - y},
      {"sub-neg", x - -y, x + y},
      {"neg-sub", -(x - y), y - x, whole},  // of floats, a zero would change sign
      {"mul-neg-neg", -x * -y, x * y},
      {"div-neg-neg", -x / -y, x / y},

      {"not-not", logical_not(logical_not(x)), x, boolean},
      {"not-eq", logical_not(eq(x, y)), ne(x, y)},
      {"not-ne", logical_not(ne(x, y)), eq(x, y)},
      {"not-lt", logical_not(lt(x, y)), ge(x, y), whole},  // a NaN is neither
      {"not-le", logical_not(le(x, y)), gt(x, y), whole},
      {"not-gt", logical_not(gt(x, y)), le(x, y), whole},
      {"not-ge", logical_not(ge(x, y)), lt(x, y), whole},
      {"bitwise-not-not", bitwise_not(bitwise_not(x)), x},

      {"eq-self", eq(x, x), 1, whole},
      {"ne-self", ne(x, x), 0, whole},
      {"lt-self", lt(x, x), 0},
      {"le-self", le(x, x), 1, whole},
      {"gt-self", gt(x, x), 0},
      {"ge-self", ge(x, x), 1, whole},

      {"where-constant", where(c, y, z), choose},
      {"where-same", where(x, y, y), y},
      {"where-not", where(logical_not(x), y, z), where(x, z, y), boolean},
      {"where-then", where(x, where(x, y, z), w), where(x, y, w)},
      {"where-else", where(x, y, where(x, z, w)), where(x, y, w)},
      {"where-maximum", where(le(maximum(x, 0), 0), maximum(x, 0), x), maximum(x, 0)},
  };
}

std::vector<Rule> identity_rules() {
  using namespace patterns;
  const Pattern x = any(0), c = lit(1);
  return {
      {"add-zero", x + -0.0, x},
      {"sub-zero", x - 0, x},
      {"mul-one", x * 1, x},
      {"mul-minus-one", x * -1, -x},
      {"mul-zero", x * 0, 0, whole},
      {"sub-self", x - x, 0, whole},
      {"div-one", x / 1, x},
      {"div-power", x / c, divide_by_power},
      {"rsqrt", 1 / sqrt(x), rsqrt(x), not_half},
      {"reciprocal", 1 / x, reciprocal(x)},
      {"reciprocal-sqrt", reciprocal(sqrt(x)), rsqrt(x), not_half},
      {"floor-divide-one", floor_divide(x, 1), x, whole},
      {"trunc-divide-one", trunc_divide(x, 1), x, whole},
      {"pow-one", pow(x, 1), x, whole},
      {"pow-two", pow(x, 2), x * x, whole},  // libm's pow need not round as the product does

      {"maximum-self", maximum(x, x), x},
      {"minimum-self", minimum(x, x), x},
      {"fmax-self", fmax(x, x), x},
      {"fmin-self", fmin(x, x), x},
      {"and-self", bitwise_and(x, x), x},
      {"and-zero", bitwise_and(x, 0), 0},
      {"and-ones", bitwise_and(x, -1), x},
      {"or-self", bitwise_or(x, x), x},
      {"or-zero", bitwise_or(x, 0), x},
      {"xor-self", bitwise_xor(x, x), 0},
      {"xor-zero", bitwise_xor(x, 0), x},
      {"logical-and-self", logical_and(x, x), x, boolean},
      {"logical-and-true", logical_and(x, 1), x, boolean},
      {"logical-and-false", logical_and(x, 0), 0},
      {"logical-or-self", logical_or(x, x), x, boolean},
      {"logical-or-false", logical_or(x, 0), x, boolean},
      {"logical-xor-false", logical_xor(x, 0), x, boolean},
      {"logical-xor-self", logical_xor(x, x), 0, whole},
      {"shift-left-zero", shift_left(x, 0), x},
      {"shift-right-zero", shift_right(x, 0), x},

      {"floor-whole", floor(x), x, whole},
      {"ceil-whole", ceil(x), x, whole},
      {"trunc-whole", trunc(x), x, whole},
      {"round-whole", round(x), x, whole},
      {"isnan-whole", isnan(x), 0, whole},
      {"isinf-whole", isinf(x), 0, whole},
      {"isfinite-whole", isfinite(x), 1, whole},
      {"signbit-unsigned", signbit(x), 0, is_unsigned},

      {"cast-same", cast(x), [](const Match& m) { return operand_type(m) == m.dtype() ? std::optional(m[0]) : std::nullopt; }},
      {"cast-cast", cast(cast(x)), shorten_casts},
  };
}

// The product of two literals of one type.
ir::Literal times(const ir::Literal& a, const ir::Literal& b) {
  return {a.type, ir::evaluate(Op::mul, a.type, std::array{a.bits, b.bits})};
}

std::vector<Rule> fast_math_rules() {
  using namespace patterns;
  const Pattern x = any(0), y = any(1), c = lit(2), d = lit(3);
  const auto scale = [](const Match& m) {
    return std::optional(m.make(Op::mul, {m[0], m.splat(times(m.constant(2), m.constant(3)), m.type().shape)}));
  };
  const auto shift = [](const Match& m) {
    const ir::Literal &a = m.constant(2), &b = m.constant(3);
    const ir::Literal sum{a.type, ir::evaluate(Op::add, a.type, std::array{a.bits, b.bits})};
    return std::optional(m.make(Op::add, {m[0], m.splat(sum, m.type().shape)}));
  };
  return {
      {"fast-add-zero", x + 0, x, nullptr, Bits::fast_math},
      {"fast-zero-sub", 0 - x, -x, nullptr, Bits::fast_math},
      {"fast-sub-self", x - x, 0, nullptr, Bits::fast_math},
      {"fast-mul-zero", x * 0, 0, nullptr, Bits::fast_math},
      {"fast-div-self", x / x, 1, nullptr, Bits::fast_math},
      {"fast-neg-sub", -(x - y), y - x, nullptr, Bits::fast_math},
      {"scale-scale", (x * c) * d, scale, Bits::fast_math},
      {"shift-shift", (x + c) + d, shift, Bits::fast_math},
      {"exp-product", exp(x) * exp(y), exp(x + y), nullptr, Bits::fast_math},
      {"exp-log", exp(log(x)), x, nullptr, Bits::fast_math},
      {"log-exp", log(exp(x)), x, nullptr, Bits::fast_math},
      {"sqrt-sqrt", sqrt(x) * sqrt(x), x, nullptr, Bits::fast_math},
      {"fast-pow-two", pow(x, 2), x * x, nullptr, Bits::fast_math},
      {"fast-pow-half", pow(x, 0.5), sqrt(x), nullptr, Bits::fast_math},
      {"fast-rsqrt", 1 / sqrt(x), rsqrt(x), nullptr, Bits::fast_math},
      {"div-div", x / y / c,
       [](const Match& m) {
         return std::optional(m.make(Op::div, {m[0], m.make(Op::mul, {m[1], m.splat(m.constant(2), m.type().shape)})}));
       },
       Bits::fast_math},
  };
}

}  // namespace

const RuleSet& simplify_rules() {
  static const RuleSet rules([] {
    std::vector<Rule> all = sign_and_logic_rules();
    for (auto&& more : {identity_rules(), shape_rules(), fast_math_rules()}) all.insert(all.end(), more.begin(), more.end());
    return all;
  }());
  return rules;
}

Module simplify(Module module, const Options& options) {
  module.graph = rewrite(module.graph, simplify_rules(), options.fast_math);
  return module;
}

}  // namespace braze::passes
