#include "passes/nest_emitter.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/meaning.h"

namespace braze::passes {

using ir::IndexId;
using ir::IndexOp;
using ir::Instruction;
using ir::Op;
using ir::Primitive;
using ir::Size;
using ir::ValueId;

namespace {

AxisSet bit(Variable axis) { return AxisSet{1} << std::min<Variable>(axis, 63); }

constexpr std::uint32_t not_taken = ~std::uint32_t{0};

// Lets faults happen only where a guard holds.
class GuardedSink final : public ir::InstructionSink {
 public:
  GuardedSink(ir::InstructionSink& sink, ValueId guard) : sink_(sink), guard_(guard) {}
  ValueId append(const Instruction& instruction) override {
    if (instruction.op != Primitive::check || guard_ == ir::no_value) return sink_.append(instruction);
    Instruction guarded = instruction;
    guarded.in[0] =
        sink_.append({.op = Primitive::bit_and, .type = DType::boolean, .in = {instruction.in[0], guard_, ir::no_value}});
    return sink_.append(guarded);
  }

 private:
  ir::InstructionSink& sink_;
  ValueId guard_;
};

}  // namespace

NestEmitter::NestEmitter(const Nest& nest, const ir::Graph& graph, ir::IndexTable& index, Lowered& lowered)
    : nest_(nest),
      graph_(graph),
      index_(index),
      lowered_(lowered),
      builder_(lowered.loops),
      buffers_(nest.buffers.size(), not_taken) {
  std::vector<AxisSet> derived(nest.derived.size());
  const auto axes_of = [&](const Affine& affine) {
    AxisSet set = 0;
    for (const Affine::Term& term : affine.terms)
      set |= term.variable < derived_base ? bit(term.variable) : derived[term.variable - derived_base];
    return set;
  };
  for (std::size_t i = 0; i < derived.size(); ++i) derived[i] = axes_of(nest.affines[nest.derived[i].of]);
  for (const Affine& affine : nest.affines) affine_axes_.push_back(axes_of(affine));
  for (const Expr& expr : nest.exprs) {
    AxisSet set = 0;
    if (has_affine(expr)) set |= affine_axes_[expr.affine];
    for (const Condition& condition : nest.guards[expr.guard]) set |= affine_axes_[condition.index];
    for (const ExprId in : expr.in) set |= axes_[in];
    axes_.push_back(set);
  }
}

ValueId NestEmitter::arithmetic(Primitive op, ValueId a, ValueId b) {
  return builder_.append({.op = op, .type = DType::i64, .in = {a, b, ir::no_value}});
}

ValueId NestEmitter::min(ValueId a, ValueId b) {
  const ValueId less =
      builder_.append({.op = Primitive::lt, .type = DType::boolean, .from = DType::i64, .in = {a, b, ir::no_value}});
  return builder_.append({.op = Primitive::select, .type = DType::i64, .in = {less, a, b}});
}

ValueId NestEmitter::max(ValueId a, ValueId b) {
  const ValueId less =
      builder_.append({.op = Primitive::lt, .type = DType::boolean, .from = DType::i64, .in = {a, b, ir::no_value}});
  return builder_.append({.op = Primitive::select, .type = DType::i64, .in = {less, b, a}});
}

ValueId NestEmitter::size_value(IndexId id) {
  if (index_[id].op == IndexOp::number) return number(index_[id].number);
  const auto [at, fresh] = sizes_.emplace(id, ir::no_value);
  if (fresh) {
    const bool named = index_[id].op == IndexOp::symbol;
    at->second = builder_.size(named ? index_.text(id, graph_.symbols) : "e");
    lowered_.sizes.push_back(id);
  }
  return at->second;
}

Size NestEmitter::size(IndexId id) {
  if (index_[id].op == IndexOp::number) return Size::of(index_[id].number);
  return Size::of_value(size_value(id));
}

std::vector<ValueId> NestEmitter::digits(ValueId position, std::span<const IndexId> extents) {
  std::vector<ValueId> result(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    result[i] = i ? rem(position, size_value(extents[i])) : position;
    if (i) position = quo(position, size_value(extents[i]));
  }
  return result;
}

ValueId NestEmitter::open(ir::LoopKind kind, Size extent, std::int32_t step) {
  const ValueId variable = builder_.open_for(kind, extent, step);
  scopes_.emplace_back();
  return variable;
}

std::vector<ValueId> NestEmitter::close() {
  scopes_.pop_back();
  return builder_.close_for();
}

void NestEmitter::bind(Variable axis, std::vector<ValueId> parts) { scopes_.back().variables[axis] = std::move(parts); }

const std::vector<ValueId>& NestEmitter::variable(Variable v) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->variables.find(v); found != scope->variables.end()) return found->second;
    if (scope->alone) break;
  }
  invariant(v >= derived_base, "kernel '{}': axis {} is used where no loop gives it", nest_.name, v);
  const Derived& derived = nest_.derived[v - derived_base];
  const ValueId of = affine_value(derived.of), divisor = size_value(derived.divisor);
  return scopes_.back().variables[v] = {derived.remainder ? rem(of, divisor) : quo(of, divisor)};
}

ValueId NestEmitter::affine_value(AffineId id) {
  const Affine& affine = nest_.affines[id];
  ValueId sum = ir::no_value;
  const auto plus = [&](ValueId value) { sum = sum == ir::no_value ? value : add(sum, value); };
  if (!index_.is_number(affine.offset, 0)) plus(size_value(affine.offset));
  for (const Affine::Term& term : affine.terms)
    for (const ValueId part : variable(term.variable))
      plus(index_.is_number(term.coefficient, 1) ? part : mul(part, size_value(term.coefficient)));
  return sum == ir::no_value ? number(0) : sum;
}

ValueId NestEmitter::variable_value(Variable v) {
  ValueId sum = ir::no_value;
  for (const ValueId part : variable(v)) sum = sum == ir::no_value ? part : add(sum, part);
  return sum;
}

const NestEmitter::Scope::Part* NestEmitter::part_of(AffineId address) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->parts.find(address); found != scope->parts.end()) return &found->second;
    if (scope->alone) break;
  }
  return nullptr;
}

ir::Access NestEmitter::access(std::uint32_t buffer, AffineId address) {
  const Affine& affine = nest_.affines[address];
  const Scope::Part* const known = part_of(address);
  ir::Access result{buffer, {}, size(affine.offset)};
  for (const Affine::Term& term : affine.terms) {
    if (known && std::find(known->of.begin(), known->of.end(), term.variable) != known->of.end()) continue;
    for (const ValueId part : variable(term.variable)) result.terms.push_back({part, size(term.coefficient)});
  }
  if (known) result.terms.push_back({known->value, Size::of(1)});
  return result;
}

std::uint32_t NestEmitter::buffer(std::uint32_t nest_buffer) {
  std::uint32_t& number = buffers_[nest_buffer];
  if (number != not_taken) return number;
  const ir::Value value = nest_.buffers[nest_buffer];
  const bool writes =
      std::any_of(nest_.outputs.begin(), nest_.outputs.end(), [&](const Output& o) { return o.buffer == nest_buffer; });
  number = builder_.buffer({.type = graph_.type(value).dtype, .writes = writes});
  lowered_.buffers.push_back(value);
  return number;
}

std::uint32_t NestEmitter::temporary(ir::Value value, DType type, bool writes) {
  lowered_.buffers.push_back(value);
  return builder_.buffer({.type = type, .writes = writes});
}

ValueId NestEmitter::convert(ValueId value, DType to) {
  const DType from = builder_.type(value);
  if (from == to) return value;
  return builder_.append({.op = Primitive::convert, .type = to, .from = from, .in = {value, ir::no_value, ir::no_value}});
}

ValueId NestEmitter::guard_value(GuardId guard) {
  ValueId all = ir::no_value;
  const auto both = [&](ValueId condition) {
    all = all == ir::no_value
              ? condition
              : builder_.append({.op = Primitive::bit_and, .type = DType::boolean, .in = {all, condition, ir::no_value}});
  };
  const auto compare = [&](Primitive op, ValueId a, ValueId b) {
    both(builder_.append({.op = op, .type = DType::boolean, .from = DType::i64, .in = {a, b, ir::no_value}}));
  };
  for (const Condition& condition : nest_.guards[guard]) {
    const ValueId index = affine_value(condition.index);
    compare(Primitive::le, number(0), index);
    compare(Primitive::lt, index, size_value(condition.extent));
  }
  return all;
}

const ValueId* NestEmitter::find(ExprId expr) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->values.find(expr); found != scope->values.end()) return &found->second;
    if (scope->alone) break;
  }
  return nullptr;
}

bool NestEmitter::has(ExprId expr) const { return find(expr) != nullptr; }

ValueId NestEmitter::value(ExprId expr) {
  if (const ValueId* known = find(expr)) return *known;
  const ExprId roots[] = {expr};
  compute(roots);
  return scopes_.back().values.at(expr);
}

ValueId NestEmitter::wide_value(ExprId expr) { return convert(value(expr), compute_type(nest_.exprs[expr].type)); }

void NestEmitter::define(ExprId expr, ValueId value) { scopes_.back().values[expr] = value; }

void NestEmitter::compute_one(ExprId id) {
  const Expr& expr = nest_.exprs[id];
  ValueId result = ir::no_value;
  switch (expr.kind) {
    case Expr::Kind::load:
      result = builder_.load(access(buffer(expr.number), expr.affine), guard_value(expr.guard));
      break;
    case Expr::Kind::constant:
      result = builder_.constant(expr.type, expr.bits);
      break;
    case Expr::Kind::index:
      result = affine_value(expr.affine);
      break;
    case Expr::Kind::guard:
      result = guard_value(expr.guard);
      break;
    case Expr::Kind::reduced:
      invariant(false, "kernel '{}': a reduction is read before it is done", nest_.name);
      break;
    case Expr::Kind::scalar: {
      const auto [at, fresh] = scalars_.emplace(expr.number, ir::no_value);
      if (fresh) {
        at->second = builder_.scalar(expr.type);
        lowered_.scalars.push_back(expr.number);
      }
      result = at->second;
      break;
    }
    case Expr::Kind::wrap: {
      const ValueId index = value(expr.in[0]), extent = affine_value(expr.affine);
      const ValueId negative = compare(Primitive::lt, index, number(0));
      result = builder_.append({.op = Primitive::select, .type = DType::i64, .in = {negative, add(index, extent), index}});
      check_place(result, expr.affine, guard_value(expr.guard));
      break;
    }
    case Expr::Kind::take: {
      const ValueId place = value(expr.in[0]);
      const ValueId inside = within(place, expr.affine, guard_value(expr.guard));
      result = builder_.load({buffer(expr.number), {{place, Size::of(1)}}, {}}, inside);
      break;
    }
    case Expr::Kind::op: {
      if (expr.op == Op::cast) {
        result = convert(value(expr.in[0]), expr.type);
        break;
      }
      std::vector<ValueId> operands;
      for (const ExprId in : expr.in) operands.push_back(wide_value(in));
      GuardedSink sink(builder_, expr.guard ? guard_value(expr.guard) : ir::no_value);
      const DType type = nest_.exprs[expr.in.back()].type;
      result = convert(ir::build(expr.op, type, operands, sink), expr.type);
      break;
    }
  }
  define(id, result);
}

bool NestEmitter::reduction_open(ExprId expr) const { return nest_.exprs[expr].kind == Expr::Kind::reduced && !has(expr); }

// Expressions come operands first, so one sweep down finds what is needed and one up computes it.
void NestEmitter::compute(std::span<const ExprId> roots) {
  std::vector<bool> needed(nest_.exprs.size());
  for (const ExprId root : roots) needed[root] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    if (has(static_cast<ExprId>(i)))
      needed[i] = false;
    else
      for (const ExprId in : nest_.exprs[i].in) needed[in] = true;
  }
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) compute_one(static_cast<ExprId>(i));
}

void NestEmitter::compute_invariant(std::span<const ExprId> roots, AxisSet axes) {
  std::vector<bool> needed(nest_.exprs.size()), open(nest_.exprs.size());
  for (const ExprId root : roots) needed[root] = true;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto id = static_cast<ExprId>(i);
    open[i] = (axes_[i] & axes) != 0 || reduction_open(id);
    if (has(id))
      open[i] = false;
    else
      for (const ExprId in : nest_.exprs[i].in) open[i] = open[i] || open[in];
  }
  std::vector<ExprId> outermost;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    if (!open[i])
      outermost.push_back(static_cast<ExprId>(i));
    else
      for (const ExprId in : nest_.exprs[i].in) needed[in] = true;
  }
  compute(outermost);
}

void NestEmitter::check(const Output& output) {
  compute({&output.expr, 1});
  check_place(value(output.index), output.address, ir::no_value);
}

void NestEmitter::store(const Output& output, ValueId predicate) {
  const ValueId stored = value(output.expr);
  ir::Access to;
  if (output.index == no_expr) {
    to = access(buffer(output.buffer), output.address);
  } else {
    const ValueId place = value(output.index);
    predicate = within(place, output.address, predicate);
    to = {buffer(output.buffer), {{place, Size::of(1)}}, {}};
  }
  builder_.store(to, output.accumulate ? combined(output, to, predicate) : stored, predicate);
}

// Halves combine in f32 and round.
ValueId NestEmitter::combined(const Output& output, const ir::Access& at, ValueId predicate) {
  using Combine = ir::Put::Combine;
  if (output.combine == Combine::assign) return value(output.expr);
  const Op op = output.combine == Combine::add        ? Op::add
                : output.combine == Combine::multiply ? Op::mul
                : output.combine == Combine::maximum  ? Op::maximum
                                                      : Op::minimum;
  const DType type = nest_.exprs[output.expr].type;
  const ValueId operands[] = {convert(builder_.load(at, predicate), compute_type(type)), wide_value(output.expr)};
  return convert(ir::build(op, compute_type(type), operands, builder_), type);
}

ValueId NestEmitter::compare(Primitive op, ValueId a, ValueId b) {
  return builder_.append({.op = op, .type = DType::boolean, .from = DType::i64, .in = {a, b, ir::no_value}});
}

ValueId NestEmitter::logical(Primitive op, ValueId a, ValueId b) {
  return builder_.append({.op = op, .type = DType::boolean, .in = {a, b, ir::no_value}});
}

ValueId NestEmitter::outside(ValueId place, AffineId count) {
  return logical(Primitive::bit_or, compare(Primitive::lt, place, number(0)), compare(Primitive::le, affine_value(count), place));
}

void NestEmitter::check_place(ValueId place, AffineId count, ValueId guard) {
  if (!checks_) return;
  GuardedSink(builder_, guard)
      .append({.op = Primitive::check,
               .type = DType::boolean,
               .in = {outside(place, count), ir::no_value, ir::no_value},
               .payload = static_cast<std::uint64_t>(ir::Fault::index_out_of_range)});
}

ValueId NestEmitter::within(ValueId place, AffineId count, ValueId guard) {
  check_place(place, count, guard);
  const ValueId inside = logical(Primitive::bit_xor, outside(place, count), builder_.constant(DType::boolean, 1));
  return guard == ir::no_value ? inside : logical(Primitive::bit_and, guard, inside);
}

}  // namespace braze::passes
