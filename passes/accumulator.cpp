#include "passes/accumulator.h"

#include <limits>

#include "ir/error.h"
#include "ir/meaning.h"

namespace braze::passes {

using ir::Op;
using ir::Primitive;
using ir::ValueId;

namespace {

bool looks_for_least(Op op) { return op == Op::min || op == Op::argmin || op == Op::min_with_index; }
bool has_position(Op op) { return op == Op::argmax || op == Op::argmin || op == Op::max_with_index || op == Op::min_with_index; }

DType value_type(Op op, DType operand) {
  if (op == Op::any || op == Op::all) return DType::boolean;
  if ((op == Op::sum || op == Op::prod) && !is_float(operand)) return DType::i64;
  return compute_type(operand);
}

// The worst value there is: what max and min start from.
std::uint64_t worst(Op op, DType type) {
  const bool least = looks_for_least(op);
  return ir::with_type(type, [&]<class T>(std::type_identity<T>) -> std::uint64_t {
    using Limits = std::numeric_limits<T>;
    if constexpr (ir::Real<T>)
      return ir::to_bits(least ? Limits::infinity() : -Limits::infinity());
    else if constexpr (ir::Bits<T>)
      return ir::to_bits(least ? Limits::max() : Limits::min());
    else
      return 0;  // halves compute in f32
  });
}

std::uint64_t identity(Op op, DType type) {
  if (op == Op::sum || op == Op::any) return 0;
  if (op == Op::prod) return type == DType::f64 ? ir::to_bits(1.0) : type == DType::f32 ? ir::to_bits(1.0f) : 1;
  return op == Op::all ? 1 : worst(op, type);
}

Op join_of(Op op) {
  switch (op) {
    case Op::sum:
      return Op::add;
    case Op::prod:
      return Op::mul;
    case Op::any:
      return Op::logical_or;
    case Op::all:
      return Op::logical_and;
    default:
      return looks_for_least(op) ? Op::minimum : Op::maximum;
  }
}

// Whether the later pair replaces the earlier.
template <ir::AnyScalar S, class I>
ir::BooleanOf<S> replaces(bool least, S earlier, I earlier_at, S later, I later_at) {
  ir::BooleanOf<S> better, equal = later == earlier;
  if constexpr (std::same_as<ir::ElementOf<S>, bool>)
    better = least ? earlier & !later : later & !earlier;
  else
    better = least ? later < earlier : earlier < later;
  if constexpr (ir::Real<ir::ElementOf<S>>) {
    better = better | (is_nan(later) & !is_nan(earlier));
    equal = equal | (is_nan(later) & is_nan(earlier));
  }
  return better | (equal & (later_at < earlier_at));
}

ir::Combine positioned(Op op, DType type) {
  ir::CombineBuilder builder({type, DType::i64});
  ir::Emitting emitting(builder);
  using Position = ir::Scalar<std::int64_t>;
  const Position earlier{builder.earlier(1)}, later{builder.later(1)};
  return ir::with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (ir::Half<T>) {
      invariant(false, "{} does not accumulate in a half", name(op));
      return ir::Combine{};
    } else {
      const ir::Scalar<T> a{builder.earlier(0)}, b{builder.later(0)};
      const ir::Scalar<bool> replace = replaces(looks_for_least(op), a, earlier, b, later);
      return builder.finish({select(replace, b, a).id, select(replace, later, earlier).id});
    }
  });
}

ir::Combine plain(Op op, DType type) {
  ir::CombineBuilder builder({type});
  const ValueId operands[] = {builder.earlier(0), builder.later(0)};
  const ValueId joined = ir::build(join_of(op), type, operands, builder);
  return builder.finish({joined});
}

ValueId converted(ValueId value, DType from, DType to, ir::InstructionSink& sink) {
  if (from == to) return value;
  return sink.append({.op = Primitive::convert, .type = to, .from = from, .in = {value, ir::no_value, ir::no_value}});
}

}  // namespace

Accumulator accumulator(Op op, DType operand) {
  const DType type = value_type(op, operand);
  if (!has_position(op)) return {op, operand, {type}, {identity(op, type)}, plain(op, type)};
  return {op,
          operand,
          {type, DType::i64},
          {worst(op, type), static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())},
          positioned(op, type)};
}

std::vector<ValueId> element_tuple(const Accumulator& accumulator, ValueId value, ValueId position, ir::InstructionSink& sink) {
  std::vector<ValueId> tuple{converted(value, compute_type(accumulator.operand), accumulator.types[0], sink)};
  if (accumulator.types.size() > 1) tuple.push_back(position);
  return tuple;
}

ValueId reduction_result(const Accumulator& accumulator, std::size_t result, DType type, const std::vector<ValueId>& tuple,
                         ir::InstructionSink& sink) {
  const bool position = accumulator.op == Op::argmax || accumulator.op == Op::argmin || result == 1;
  return position ? tuple[1] : converted(tuple[0], accumulator.types[0], type, sink);
}

}  // namespace braze::passes
