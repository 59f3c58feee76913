#include "codegen/cpu/ranges.h"

#include <algorithm>
#include <cmath>

#include "ir/scalar.h"

namespace braze::codegen::cpu {

using ir::Primitive;

namespace {

void collect(const ir::Block& block, std::vector<const ir::Instruction*>& out) {
  for (const ir::Statement& statement : block)
    std::visit(ir::match{[&](const ir::Compute& compute) { out[compute.result] = &compute.instruction; },
                         [&](const ir::For& loop) { collect(loop.body, out); },
                         [&](const ir::If& branch) { collect(branch.body, out); }, [](const auto&) {}},
               statement.node);
}

Range of_constant(const ir::Instruction& i) {
  const double value =
      i.type == DType::f32 ? static_cast<double>(ir::from_bits<float>(i.payload)) : ir::from_bits<double>(i.payload);
  return std::isnan(value) ? Range{} : Range{value, value};
}

// A product is rounded, and a float's range may be wider than the number of digits here says.
Range product(Range a, double factor) {
  if (factor < 0) std::swap(a.low, a.high);
  const auto scaled = [&](double bound, double outwards) {
    const double exact = bound * factor;
    return std::isnan(exact) ? outwards * std::numeric_limits<double>::infinity() : exact + outwards * std::abs(exact) * 0x1p-20;
  };
  return {scaled(a.low, -1), scaled(a.high, 1)};
}

}  // namespace

Ranges::Ranges(const ir::Kernel& kernel) : instructions_(kernel.value_types.size()) { collect(kernel.body, instructions_); }

Range Ranges::of(ir::ValueId value, int depth) const {
  const ir::Instruction* const i = value < instructions_.size() ? instructions_[value] : nullptr;
  if (!i || depth == 0 || (i->type != DType::f32 && i->type != DType::f64)) return {};
  const auto operand = [&](std::size_t k) { return of(i->in[k], depth - 1); };
  switch (i->op) {
    case Primitive::constant:
      return of_constant(*i);
    case Primitive::floor:
    case Primitive::ceil:
    case Primitive::trunc:
    case Primitive::round_even: {
      const Range x = operand(0);
      return {std::floor(x.low), std::ceil(x.high)};
    }
    case Primitive::neg: {
      const Range x = operand(0);
      return {-x.high, -x.low};
    }
    case Primitive::mul: {
      const Range a = operand(0), b = operand(1);
      return b.low == b.high ? product(a, b.low) : a.low == a.high ? product(b, a.low) : Range{};
    }
    case Primitive::select:
      return selected(*i, depth);
    default:
      return {};
  }
}

// Where a < b holds, a is below b's greatest and b above a's least; where it does not, the other way round, or one is a NaN: what the
// condition compares with must then be no NaN itself, and a constant is none.
Range Ranges::selected(const ir::Instruction& select, int depth) const {
  Range then = of(select.in[1], depth - 1), otherwise = of(select.in[2], depth - 1);
  const ir::Instruction* const condition = instructions_[select.in[0]];
  if (condition && condition->op == Primitive::lt) {
    const ir::ValueId a = condition->in[0], b = condition->in[1];
    const Range of_a = of(a, depth - 1), of_b = of(b, depth - 1);
    const bool a_known = of_a.low == of_a.high, b_known = of_b.low == of_b.high;
    if (select.in[1] == a && b_known) then.high = std::min(then.high, of_b.high);
    if (select.in[1] == b && a_known) then.low = std::max(then.low, of_a.low);
    if (select.in[2] == a && b_known) otherwise.low = std::max(otherwise.low, of_b.low);
    if (select.in[2] == b && a_known) otherwise.high = std::min(otherwise.high, of_a.high);
  }
  return {std::min(then.low, otherwise.low), std::max(then.high, otherwise.high)};
}

}  // namespace braze::codegen::cpu
