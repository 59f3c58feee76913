// Which schedule a nest gets, elementwise nests, and what the schedules share.
//
// Elementwise: with one axis, one parallel vector loop. With several, parallel over rows and pieces of a row, so that few long rows and
// many short ones both spread over the cores, with a vector loop along the last axis inside; where something is read across, in tiles.
#include "passes/schedule_cpu.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/error.h"
#include "ir/meaning.h"

namespace braze::passes {

using ir::IndexId;
using ir::LoopKind;
using ir::Op;
using ir::Size;
using ir::ValueId;

namespace cpu {

Lowered Context::start(const std::string& suffix) const {
  Lowered lowered;
  lowered.group = nest.group;
  lowered.loops.name = nest.name + suffix;
  return lowered;
}

void Context::finish(Lowered lowered, IndexId extent, IndexId work, std::vector<ir::KernelPhase> then) const {
  lowered.extent = extent;
  lowered.work = work;
  lowered.then = std::move(then);
  module.kernels.push_back(std::move(lowered));
}

ir::Value Context::temporary(DType type, IndexId elements) const {
  module.temporaries.push_back({type, elements});
  return {temporary_base + static_cast<ir::NodeId>(module.temporaries.size() - 1), 0};
}

std::vector<Variable> Context::axes(bool reduced) const {
  std::vector<Variable> result;
  for (Variable axis = 0; axis < nest.axes.size(); ++axis)
    if (nest.axes[axis].reduced == reduced) result.push_back(axis);
  return result;
}

std::vector<IndexId> Context::extents(bool reduced) const {
  std::vector<IndexId> result;
  for (const Variable axis : axes(reduced)) result.push_back(nest.axes[axis].extent);
  return result;
}

IndexId Context::product(const std::vector<IndexId>& extents) const {
  IndexId result = index().number(1);
  for (const IndexId extent : extents) result = index().mul(result, extent);
  return result;
}

IndexId Context::elements() const { return index().mul(product(extents(false)), product(extents(true))); }

AxisSet set_of(const std::vector<Variable>& axes) {
  AxisSet set = 0;
  for (const Variable axis : axes) set |= AxisSet{1} << std::min<Variable>(axis, 63);
  return set;
}

std::int32_t lanes(const Context& context) {
  int widest = 1;
  for (const Expr& expr : context.nest.exprs)
    if (expr.kind != Expr::Kind::index && expr.kind != Expr::Kind::guard)
      widest = std::max(widest, size_of(compute_type(expr.type)));
  return std::clamp(2 * context.target.vector_bytes / widest, 4, 64);
}

namespace {

// The combines of several reductions as one over all their values.
ir::Combine joint(const std::vector<Accumulator>& accumulators) {
  ir::Combine result;
  std::size_t total = 0, base = 0;
  for (const Accumulator& a : accumulators) total += a.types.size();
  for (const Accumulator& a : accumulators) {
    const std::size_t own = a.types.size(), instructions = result.body.size();
    const auto renamed = [&](ValueId v) {
      if (v == ir::no_value) return v;
      if (v < own) return static_cast<ValueId>(base + v);
      if (v < 2 * own) return static_cast<ValueId>(total + base + v - own);
      return static_cast<ValueId>(2 * total + instructions + v - 2 * own);
    };
    for (ir::Instruction instruction : a.combine.body) {
      for (ValueId& in : instruction.in) in = renamed(in);
      result.body.push_back(instruction);
    }
    for (const ValueId v : a.combine.results) result.results.push_back(renamed(v));
    result.types.insert(result.types.end(), a.types.begin(), a.types.end());
    base += own;
  }
  return result;
}

}  // namespace

namespace {

std::vector<std::size_t> members_of(const Nest& nest, std::uint32_t stage) {
  std::vector<std::size_t> members;
  for (std::size_t r = 0; r < nest.reductions.size(); ++r)
    if (nest.reductions[r].stage == stage) members.push_back(r);
  return members;
}

}  // namespace

Stage::Stage(NestEmitter& emit, std::uint32_t stage) : Stage(emit, members_of(emit.nest(), stage)) {}

Stage::Stage(NestEmitter& emit, std::vector<std::size_t> members) : emit_(emit), members_(std::move(members)) {
  const Nest& nest = emit.nest();
  for (const std::size_t member : members_) {
    const Reduction& reduction = nest.reductions[member];
    operands_.push_back(reduction.operand);
    accumulators_.push_back(accumulator(reduction.op, nest.exprs[reduction.operand].type));
    const Accumulator& a = accumulators_.back();
    for (std::size_t i = 0; i < a.types.size(); ++i) identities_.push_back(emit.builder().constant(a.types[i], a.identities[i]));
    types_.insert(types_.end(), a.types.begin(), a.types.end());
  }
  combine_ = emit.builder().combine(joint(accumulators_));
}

std::vector<ValueId> Stage::element() {
  emit_.compute(operands_);
  std::vector<ValueId> result;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const bool positioned = accumulators_[m].types.size() > 1;
    const ValueId position = positioned ? emit_.affine_value(emit_.nest().reductions[members_[m]].position) : ir::no_value;
    for (const ValueId v : element_tuple(accumulators_[m], emit_.wide_value(operands_[m]), position, emit_.builder()))
      result.push_back(v);
  }
  return result;
}

void Stage::define(const std::vector<ValueId>& joined) {
  const Nest& nest = emit_.nest();
  auto next = joined.begin();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const auto size = static_cast<std::ptrdiff_t>(accumulators_[m].types.size());
    const std::vector<ValueId> tuple(next, next + size);
    next += size;
    for (ExprId e = 0; e < nest.exprs.size(); ++e) {
      const Expr& expr = nest.exprs[e];
      if (expr.kind == Expr::Kind::reduced && expr.number == members_[m])
        emit_.define(e, reduction_result(accumulators_[m], expr.result, expr.type, tuple, emit_.builder()));
    }
  }
}

std::uint32_t last_stage(const Nest& nest) {
  std::uint32_t last = 0;
  for (const Reduction& reduction : nest.reductions) last = std::max(last, reduction.stage);
  return last;
}

bool has_outputs(const Nest& nest, bool row) {
  return std::any_of(nest.outputs.begin(), nest.outputs.end(), [&](const Output& o) { return o.row == row; });
}

std::vector<ExprId> output_exprs(const Nest& nest, bool row, Variable along) {
  std::vector<ExprId> result;
  for (const Output& output : nest.outputs)
    if (output.row == row && output.along == along) result.push_back(output.expr);
  return result;
}

void take_outputs(NestEmitter& emit, bool row) {
  for (const Output& output : emit.nest().outputs)
    if (output.row == row) emit.buffer(output.buffer);
}

void store_outputs(NestEmitter& emit, bool row, Variable along) {
  emit.compute(output_exprs(emit.nest(), row, along));
  for (const Output& output : emit.nest().outputs)
    if (output.row == row && output.along == along) emit.store(output);
}

namespace {

// Loads that are contiguous along some axis and strided along the last one: the other side of a transposition.
struct Crossing {
  Variable axis;
  std::vector<ExprId> loads;
};

std::optional<Crossing> crossing_of(const Context& context) {
  const Nest& nest = context.nest;
  const ir::IndexTable& index = context.index();
  if (nest.axes.size() < 2) return std::nullopt;
  const auto inner = static_cast<Variable>(nest.axes.size() - 1);
  std::optional<Crossing> result;
  for (ExprId e = 0; e < nest.exprs.size(); ++e) {
    const Expr& expr = nest.exprs[e];
    if (expr.kind != Expr::Kind::load || expr.guard != 0) continue;
    std::optional<Variable> contiguous;
    bool strided = false, derived = false;
    for (const Affine::Term& term : nest.affines[expr.affine].terms) {
      const bool one = index.is_number(term.coefficient, 1);
      derived = derived || term.variable >= derived_base;
      if (term.variable == inner)
        strided = !one && !index.is_number(term.coefficient, -1);
      else if (one)
        contiguous = term.variable;
    }
    if (!strided || !contiguous || derived) continue;
    if (!result) result = Crossing{*contiguous, {}};
    if (result->axis == *contiguous) result->loads.push_back(e);
  }
  return result;
}

IndexId schedule_line(const Context& context, NestEmitter& emit) {
  const IndexId extent = context.nest.axes[0].extent;
  const Size size = emit.size(extent);
  const ValueId lane = emit.open(LoopKind::parallel, size, lanes(context));
  emit.bind(0, {lane});
  store_outputs(emit, false);
  emit.close();
  return extent;
}

// A step of the parallel loop takes a few rows of a piece, so that finding the row is paid for once in many short ones.
IndexId schedule_grid(const Context& context, NestEmitter& emit) {
  constexpr std::int64_t row_block = 16;
  const Nest& nest = context.nest;
  ir::IndexTable& index = context.index();
  const auto inner = static_cast<Variable>(nest.axes.size() - 1), row = inner - 1;
  std::vector<IndexId> outer = context.extents(false);
  outer[row] = index.ceil_div(outer[row], index.number(row_block));
  outer[inner] = index.ceil_div(outer[inner], index.number(piece));
  const IndexId extent = context.product(outer);
  const Size size = emit.size(extent);
  const std::vector<ValueId> digits = emit.digits(emit.open(LoopKind::parallel, size), outer);
  for (Variable axis = 0; axis < row; ++axis) emit.bind(axis, {digits[axis]});
  const ir::BlockRange rows = ir::emit_block_range(emit.builder(), emit.size(nest.axes[row].extent), digits[row], row_block);
  const ir::BlockRange columns = ir::emit_block_range(emit.builder(), emit.size(nest.axes[inner].extent), digits[inner], piece);
  emit.compute_invariant(output_exprs(nest, false), set_of({row, inner}));
  const ValueId at = emit.open(LoopKind::serial, rows.count);
  emit.bind(row, {rows.begin, at});
  emit.compute_invariant(output_exprs(nest, false), set_of({inner}));
  const ValueId lane = emit.open(LoopKind::serial, columns.count, lanes(context));
  emit.bind(inner, {columns.begin, lane});
  store_outputs(emit, false);
  emit.close();
  emit.close();
  emit.close();
  return extent;
}

// Tiles of places along the crossing axis and columns along the last one. What is read across goes through a tile in scratch, which is
// filled along the crossing axis, so that each cache line is fetched once and whole, whatever the strides. A step of the parallel loop
// takes a block of tiles, places first: what a prefetcher brings past the end of one tile is the next one's.
class Tiles {
 public:
  Tiles(const Context& context, NestEmitter& emit, const Crossing& crossing)
      : context_(context),
        nest_(context.nest),
        emit_(emit),
        crossing_(crossing),
        inner_(static_cast<Variable>(nest_.axes.size() - 1)) {}

  IndexId run() {
    ir::IndexTable& index = context_.index();
    std::vector<IndexId> outer = context_.extents(false);
    for (const Variable axis : {crossing_.axis, inner_}) outer[axis] = index.ceil_div(outer[axis], index.number(block));
    const IndexId extent = context_.product(outer);
    const Size size = emit_.size(extent);
    const std::vector<ValueId> digits = emit_.digits(emit_.open(LoopKind::parallel, size), outer);
    for (Variable axis = 0; axis < inner_; ++axis)
      if (axis != crossing_.axis) emit_.bind(axis, {digits[axis]});
    for (const ExprId load : crossing_.loads)
      tiles_.push_back(emit_.builder().scratch(nest_.exprs[load].type, ir::Space::heap, Size::of(pitch * tile)));
    for (ExprId e = 0; e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      const AxisSet both = set_of({inner_, crossing_.axis});
      if (expr.kind != Expr::Kind::load || expr.guard != 0 || (emit_.axes_of(e) & both) != both) continue;
      if (std::find(crossing_.loads.begin(), crossing_.loads.end(), e) != crossing_.loads.end()) continue;
      if (may_be_overwritten(expr)) continue;
      along_.push_back(e);
      rows_.push_back(emit_.builder().scratch(expr.type, ir::Space::heap, Size::of(tile * tile)));
    }
    emit_.compute_invariant(output_exprs(nest_, false), set_of({inner_, crossing_.axis}));
    const ir::BlockRange columns = open_tiles(inner_, digits[inner_]);
    const ir::BlockRange places = open_tiles(crossing_.axis, digits[crossing_.axis]);
    fill(places, columns);
    compute(places, columns);
    for (int loops = 3; loops > 0; --loops) emit_.close();
    return extent;
  }

 private:
  static constexpr std::int64_t tile = 64, block = 256;
  static constexpr std::int64_t pitch = tile + 1;  // so that a column of the tile is spread over the cache

  // Whether the plan may put an output in the place of what is loaded: such a load stands beside the store.
  bool may_be_overwritten(const Expr& load) const {
    const ir::Node& node = context_.module.graph.node(nest_.buffers[load.number]);
    if (node.op == Op::parameter && node.as<ir::Parameter>().kind == ir::Parameter::Kind::buffer) return false;
    return std::any_of(nest_.outputs.begin(), nest_.outputs.end(),
                       [&](const Output& o) { return nest_.affines[o.address] == nest_.affines[load.affine]; });
  }

  // A loop over the tiles of a block of the axis: the tile's range.
  ir::BlockRange open_tiles(Variable axis, ValueId block_number) {
    ir::KernelBuilder& builder = emit_.builder();
    const ir::BlockRange range = ir::emit_block_range(builder, emit_.size(nest_.axes[axis].extent), block_number, block);
    const ValueId count = emit_.quo(emit_.add(range.count.value, emit_.number(tile - 1)), emit_.number(tile));
    const ValueId number = emit_.open(LoopKind::serial, Size::of_value(count));
    const ir::BlockRange within = ir::emit_block_range(builder, range.count, number, tile);
    return {emit_.add(range.begin, within.begin), within.count};
  }

  ir::Access at(std::size_t number, ValueId column, ValueId place) const {
    return {tiles_[number], {{column, Size::of(pitch)}, {place, Size::of(1)}}, {}};
  }

  void fill(const ir::BlockRange& places, const ir::BlockRange& columns) {
    const ValueId column = emit_.open(LoopKind::serial, columns.count);
    emit_.bind(inner_, {columns.begin, column});
    const ValueId place = emit_.open(LoopKind::serial, places.count, lanes(context_));
    emit_.bind(crossing_.axis, {places.begin, place});
    for (std::size_t i = 0; i < tiles_.size(); ++i) emit_.builder().store(at(i, column, place), emit_.value(crossing_.loads[i]));
    emit_.close();
    emit_.close();
    if (along_.empty()) return;
    const ValueId row = emit_.open(LoopKind::serial, places.count);
    emit_.bind(crossing_.axis, {places.begin, row});
    const ValueId lane = emit_.open(LoopKind::serial, columns.count, lanes(context_));
    emit_.bind(inner_, {columns.begin, lane});
    for (std::size_t i = 0; i < along_.size(); ++i) emit_.builder().store(row_at(i, row, lane), emit_.value(along_[i]));
    emit_.close();
    emit_.close();
  }

  ir::Access row_at(std::size_t number, ValueId place, ValueId column) const {
    return {rows_[number], {{place, Size::of(tile)}, {column, Size::of(1)}}, {}};
  }

  void compute(const ir::BlockRange& places, const ir::BlockRange& columns) {
    const ValueId place = emit_.open(LoopKind::serial, places.count);
    emit_.bind(crossing_.axis, {places.begin, place});
    emit_.compute_invariant(output_exprs(nest_, false), set_of({inner_}));
    const ValueId column = emit_.open(LoopKind::serial, columns.count, lanes(context_));
    emit_.bind(inner_, {columns.begin, column});
    for (std::size_t i = 0; i < tiles_.size(); ++i) emit_.define(crossing_.loads[i], emit_.builder().load(at(i, column, place)));
    for (std::size_t i = 0; i < along_.size(); ++i) emit_.define(along_[i], emit_.builder().load(row_at(i, place, column)));
    store_outputs(emit_, false);
    emit_.close();
    emit_.close();
  }

  const Context& context_;
  const Nest& nest_;
  NestEmitter& emit_;
  const Crossing& crossing_;
  const Variable inner_;
  std::vector<std::uint32_t> tiles_, rows_;
  std::vector<ExprId> along_;  // the other loads, fetched ahead as well: many lines are on their way at once in a short loop
};

}  // namespace

void schedule_elementwise(const Context& context) {
  const Nest& nest = context.nest;
  Lowered lowered = context.start();
  NestEmitter emit(nest, context.module.graph, context.index(), lowered);
  take_outputs(emit, false);
  IndexId extent = context.index().number(1);
  if (nest.axes.empty()) {
    emit.open(LoopKind::parallel, Size::of(1));
    store_outputs(emit, false);
    emit.close();
  } else if (nest.axes.size() == 1) {
    extent = schedule_line(context, emit);
  } else if (const auto crossing = crossing_of(context)) {
    extent = Tiles(context, emit, *crossing).run();
  } else {
    extent = schedule_grid(context, emit);
  }
  context.finish(std::move(lowered), extent, context.elements());
}

namespace {

// Quotients and remainders of an axis by the divisor that occurs first; none where it is not divided.
struct Split {
  IndexId divisor;
  std::vector<Variable> quotients, remainders;
};
std::optional<Split> split_of(const Nest& nest, ir::IndexTable& index, Variable axis) {
  std::optional<Split> result;
  for (std::size_t i = 0; i < nest.derived.size(); ++i) {
    const Derived& d = nest.derived[i];
    const Affine& of = nest.affines[d.of];
    const bool is_axis = of.terms.size() == 1 && of.terms[0].variable == axis && index.is_number(of.terms[0].coefficient, 1) &&
                         index.is_number(of.offset, 0);
    if (!is_axis || (result && result->divisor != d.divisor)) continue;
    if (!result) result = Split{d.divisor, {}, {}};
    (d.remainder ? result->remainders : result->quotients).push_back(derived_base + static_cast<Variable>(i));
  }
  return result;
}

// Every axis in order, around what `body` writes. One that is divided is two loops: divisions take longer than a body.
template <class F>
void in_order(NestEmitter& emit, const F& body) {
  const Nest& nest = emit.nest();
  ir::IndexTable& index = emit.index();
  emit.open(LoopKind::parallel, Size::of(1));
  std::size_t loops = 1;
  for (Variable axis = 0; axis < nest.axes.size(); ++axis) {
    const IndexId extent = nest.axes[axis].extent;
    const auto split = split_of(nest, index, axis);
    if (!split) {
      emit.bind(axis, {emit.open(LoopKind::serial, emit.size(extent))});
      loops += 1;
      continue;
    }
    const ValueId divisor = emit.size_value(split->divisor);
    const ValueId whole = emit.size_value(extent), count = emit.quo(emit.add(whole, emit.sub(divisor, emit.number(1))), divisor);
    const ValueId quotient = emit.open(LoopKind::serial, Size::of_value(count)), begin = emit.mul(quotient, divisor);
    const ValueId remainder = emit.open(LoopKind::serial, Size::of_value(emit.min(emit.sub(whole, begin), divisor)));
    emit.bind(axis, {begin, remainder});
    for (const Variable v : split->quotients) emit.bind(v, {quotient});
    for (const Variable v : split->remainders) emit.bind(v, {remainder});
    loops += 2;
  }
  body();
  for (; loops > 0; --loops) emit.close();
}

// The caller's memory changes only when nothing can fault any more: the places of a put are checked by a kernel of their own.
bool checks_first(const Context& context) {
  return std::any_of(context.nest.outputs.begin(), context.nest.outputs.end(), [&](const Output& output) {
    const ir::Node& storage = context.module.graph.node(output.into);
    return output.index != no_expr && storage.op == Op::parameter &&
           storage.as<ir::Parameter>().kind == ir::Parameter::Kind::donated;
  });
}

}  // namespace

// Places may repeat, so that one element is done when the next one reads.
void schedule_serial(const Context& context) {
  const Nest& nest = context.nest;
  if (std::all_of(nest.outputs.begin(), nest.outputs.end(), [](const Output& o) { return o.index == no_expr; }))
    return schedule_accumulate(context);
  const bool split = checks_first(context);
  if (split) {
    Lowered lowered = context.start("_check");
    NestEmitter emit(nest, context.module.graph, context.index(), lowered);
    in_order(emit, [&] {
      for (const Output& output : nest.outputs) emit.check(output);
    });
    context.finish(std::move(lowered), context.index().number(1), context.elements());
  }
  Lowered lowered = context.start();
  NestEmitter emit(nest, context.module.graph, context.index(), lowered);
  if (split) emit.omit_checks();
  take_outputs(emit, false);
  in_order(emit, [&] { store_outputs(emit, false); });
  context.finish(std::move(lowered), context.index().number(1), context.elements());
}

}  // namespace cpu

Module schedule_cpu(Module module, const Options& options) {
  const auto& target = std::get<ir::CpuTarget>(options.target);
  for (const auto& nest : module.nests) {
    if (nest->routine) {
      module.kernels.push_back({.group = nest->group, .buffers = nest->buffers, .call = true});
      continue;
    }
    const cpu::Context context{module, target, *nest};
    const bool serial = std::any_of(nest->outputs.begin(), nest->outputs.end(), [](const Output& o) { return o.accumulate; });
    if (!nest->contractions.empty())
      cpu::schedule_contraction(context);
    else if (nest->reductions.empty())
      serial ? cpu::schedule_serial(context) : cpu::schedule_elementwise(context);
    else
      nest->order == ReduceOrder::inner ? cpu::schedule_rows(context) : cpu::schedule_columns(context);
  }
  return module;
}

}  // namespace braze::passes
