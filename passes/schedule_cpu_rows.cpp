// Reductions of the operand's last axes, and all that is fused around them, in the order of ir/reduce_order.h.
//
// Rows: parallel over rows. A row is read once for each stage and once more for what is stored an element and needs the last stage.
// What a later pass reads of an earlier one is computed again, or kept in a scratch row if that costs more than memory does.
// Where the last pass divides, it runs a row behind, in the loop of the next row's last reduction: the divider is slow, and leaves
// the other arithmetic units to that.
// One row by its structure: two phases, so that its blocks spread over the cores. Both give the same bits.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "ir/error.h"
#include "ir/meaning.h"
#include "passes/schedule_cpu.h"

namespace braze::passes::cpu {

using ir::IndexId;
using ir::IndexOp;
using ir::LoopKind;
using ir::Op;
using ir::Size;
using ir::ValueId;

namespace {

// An expression of the element that costs more than this is kept from pass to pass.
constexpr int worth_keeping = 12;
// How many rows in a row a range takes where one row's last pass runs beside the next one's; of few rows, fewer, for all cores to
// have some.
constexpr std::int64_t rows_together = 16, ranges_of_rows = 64;

// In which pass of a row an expression is first known, and what the later ones take from scratch.
class Passes {
 public:
  explicit Passes(const Context& context) : nest_(context.nest), reduced_(set_of(context.axes(true))) {
    const std::uint32_t stages = last_stage(nest_);
    available_.resize(nest_.exprs.size());
    for (std::size_t e = 0; e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      for (const ExprId in : expr.in) available_[e] = std::max(available_[e], available_[in]);
      if (expr.kind == Expr::Kind::reduced) available_[e] = nest_.reductions[expr.number].stage;
    }
    const std::vector<ExprId> elements = output_exprs(nest_, false);
    extra_ = std::any_of(elements.begin(), elements.end(), [&](ExprId e) { return available_[e] >= stages; });
    count_ = stages + (extra_ ? 1 : 0);
  }

  std::uint32_t count() const { return count_; }  // of passes, numbered from 1; pass p may read reductions of stages before p
  bool extra() const { return extra_; }           // the last one reduces nothing
  const std::map<ExprId, std::uint32_t>& kept() const { return kept_; }  // by the pass that computes it

  // Which expressions of the element stay in scratch. `axes` are those of each expression.
  void choose(const NestEmitter& emit) {
    std::vector<std::uint32_t> computed(nest_.exprs.size());  // the first pass that does; 0: none
    for (std::uint32_t pass = 1; pass <= count_; ++pass) {
      std::vector<bool> needed(nest_.exprs.size());
      for (const ExprId root : roots(pass)) needed[root] = true;
      for (std::size_t e = needed.size(); e-- > 0;) {
        const auto id = static_cast<ExprId>(e);
        if (!needed[e] || !(emit.axes_of(id) & reduced_)) continue;
        if (computed[e] != 0 && computed[e] < pass && !kept_.contains(id) && cost_of(id, emit) > worth_keeping)
          kept_[id] = computed[e];
        if (kept_.contains(id) && kept_[id] < pass) continue;
        for (const ExprId in : nest_.exprs[e].in) needed[in] = true;
        if (computed[e] == 0) computed[e] = pass;
      }
    }
  }

  // Whether the last pass reduces nothing and waits for the divider at each element.
  bool divides_last(const NestEmitter& emit) const {
    const std::vector<bool> needed = needed_last(roots(count_));
    for (ExprId e = 0; extra_ && e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      if (!needed[e] || !(emit.axes_of(e) & reduced_) || kept_.contains(e) || expr.kind != Expr::Kind::op) continue;
      if (expr.op == Op::div || expr.op == Op::sqrt || expr.op == Op::rsqrt || expr.op == Op::reciprocal) return true;
    }
    return false;
  }

  // The results of reductions that the last pass and what is stored once a row read.
  std::vector<ExprId> results_read_last() const {
    std::vector<ExprId> from = roots(count_), result;
    for (const ExprId e : output_exprs(nest_, true)) from.push_back(e);
    const std::vector<bool> needed = needed_last(from);
    for (ExprId e = 0; e < nest_.exprs.size(); ++e)
      if (needed[e] && nest_.exprs[e].kind == Expr::Kind::reduced) result.push_back(e);
    return result;
  }

  std::vector<ExprId> roots(std::uint32_t pass) const {
    std::vector<ExprId> result;
    for (const Reduction& reduction : nest_.reductions)
      if (reduction.stage == pass) result.push_back(reduction.operand);
    if (pass == count_)
      for (const ExprId e : output_exprs(nest_, false)) result.push_back(e);
    return result;
  }

 private:
  // What `from` needs in the last pass, which takes from scratch what is kept.
  std::vector<bool> needed_last(const std::vector<ExprId>& from) const {
    std::vector<bool> needed(nest_.exprs.size());
    for (const ExprId e : from) needed[e] = true;
    for (std::size_t e = needed.size(); e-- > 0;)
      if (needed[e] && !kept_.contains(static_cast<ExprId>(e)))
        for (const ExprId in : nest_.exprs[e].in) needed[in] = true;
    return needed;
  }

  // What computing it again in a later pass takes.
  int cost_of(ExprId root, const NestEmitter& emit) const {
    std::vector<bool> needed(nest_.exprs.size());
    needed[root] = true;
    int cost = 0;
    for (std::size_t e = root + std::size_t{1}; e-- > 0;) {
      const auto id = static_cast<ExprId>(e);
      const Expr& expr = nest_.exprs[e];
      if (!needed[e] || !(emit.axes_of(id) & reduced_) || (id != root && kept_.contains(id))) continue;
      if (expr.kind == Expr::Kind::op) cost += expr.op == ir::Op::cast ? 1 : ir::cost(expr.op, nest_.exprs[expr.in.back()].type);
      for (const ExprId in : expr.in) needed[in] = true;
    }
    return cost;
  }

  const Nest& nest_;
  const AxisSet reduced_;
  std::vector<std::uint32_t> available_;
  bool extra_ = false;
  std::uint32_t count_ = 0;
  std::map<ExprId, std::uint32_t> kept_;
};

// The reduced axes at a place of the row.
void bind_row(const Context& context, NestEmitter& emit, ir::ReducedIndex at) {
  const std::vector<Variable> axes = context.axes(true);
  std::vector<ValueId> parts;
  if (at.begin != ir::no_value) parts.push_back(at.begin);
  parts.push_back(at.step);
  if (axes.size() == 1) {
    emit.bind(axes[0], parts);
    return;
  }
  const ValueId position = parts.size() == 1 ? parts[0] : emit.add(parts[0], parts[1]);
  const std::vector<ValueId> digits = emit.digits(position, context.extents(true));
  for (std::size_t i = 0; i < axes.size(); ++i) emit.bind(axes[i], {digits[i]});
}

Size blocks_of(const Context& context, NestEmitter& emit, IndexId length, std::int64_t block) {
  ir::IndexTable& index = context.index();
  return emit.size(index.max(index.ceil_div(length, index.number(block)), index.number(1)));
}

class Rows {
 public:
  explicit Rows(const Context& context)
      : context_(context),
        nest_(context.nest),
        index_(context.index()),
        lowered_(context.start()),
        emit_(nest_, context.module.graph, index_, lowered_),
        length_(context.product(context.extents(true))),
        passes_(context) {}

  void run() {
    take_outputs(emit_, true);
    take_outputs(emit_, false);
    passes_.choose(emit_);
    const IndexId rows = context_.product(context_.extents(false));
    const IndexId together = index_.min(index_.max(index_.floor_div(rows, index_.number(ranges_of_rows)), index_.number(1)),
                                        index_.number(rows_together));
    if (passes_.divides_last(emit_) && !index_.is_number(together, 1))
      staggered(rows, together);
    else
      one_by_one(rows);
  }

 private:
  void one_by_one(IndexId rows) {
    const Size size = emit_.size(rows);
    bind_rows(emit_.open(LoopKind::parallel, size));
    allocate_kept(length_);
    for (std::uint32_t pass = 1; pass <= passes_.count(); ++pass) {
      emit_.compute_invariant(passes_.roots(pass), set_of(context_.axes(true)));
      if (passes_.extra() && pass == passes_.count()) {
        elements(std::min(2 * lanes(context_), ir::inner_lanes), ir::no_value);
      } else {
        Stage stage(emit_, pass);
        stage.define(reduce(stage, pass));
      }
    }
    store_outputs(emit_, true);
    emit_.close();
    context_.finish(std::move(lowered_), rows, context_.elements());
  }

  // Scratch rows and the values of reductions are there twice, for the row and the one before it.
  void staggered(IndexId rows, IndexId together) {
    ir::KernelBuilder& builder = emit_.builder();
    const IndexId ranges = index_.ceil_div(rows, together);
    const std::uint32_t last = passes_.count() - 1;  // of those that reduce
    const ValueId range = emit_.open(LoopKind::parallel, emit_.size(ranges));
    const ValueId first = emit_.mul(range, emit_.size_value(together));
    const ValueId count = emit_.min(emit_.sub(emit_.size_value(rows), first), emit_.size_value(together));
    allocate_kept(index_.mul(length_, index_.number(2)));
    for (const ExprId e : passes_.results_read_last())
      results_[e] = builder.scratch(nest_.exprs[e].type, ir::Space::stack, Size::of(2));

    const ValueId at = emit_.open(LoopKind::serial, Size::of_value(count)), row = emit_.add(first, at);
    const ValueId half = half_of(at), other_half = emit_.sub(emit_.number(1), half);
    half_ = half;
    bind_rows(row);
    for (std::uint32_t pass = 1; pass < last; ++pass) {
      emit_.compute_invariant(passes_.roots(pass), set_of(context_.axes(true)));
      Stage stage(emit_, pass);
      stage.define(reduce(stage, pass));
      keep_results(pass);
    }
    emit_.compute_invariant(passes_.roots(last), set_of(context_.axes(true)));
    Stage stage(emit_, last);
    const auto last_reduction = [&](const std::function<void(ir::ReducedIndex)>& beside) {
      emit_.enter();
      stage.define(reduce(stage, last, beside));
      keep_results(last);
      emit_.leave();
    };
    const ValueId is_first = compare(ir::Primitive::eq, at, emit_.number(0));
    builder.open_if(is_first);
    last_reduction({});
    builder.close_if();
    builder.open_if(compare(ir::Primitive::lt, emit_.number(0), at));
    const NestEmitter::Scope before = row_before(emit_.sub(row, emit_.number(1)), other_half);
    last_reduction([&](ir::ReducedIndex place) {
      emit_.enter(before);
      last_pass(place, other_half);
      emit_.leave();
    });
    finish_row(before);
    builder.close_if();
    emit_.close();

    const ValueId end = emit_.sub(count, emit_.number(1));
    const NestEmitter::Scope before_end = row_before(emit_.add(first, end), half_of(end));
    emit_.enter(before_end);
    elements(lanes(context_) / 2, half_of(end));  // one row of many: little code
    emit_.leave();
    finish_row(before_end);
    emit_.close();
    context_.finish(std::move(lowered_), ranges, context_.elements());
  }

  void bind_rows(ValueId row) {
    const std::vector<ValueId> digits = emit_.digits(row, context_.extents(false));
    const std::vector<Variable> axes = context_.axes(false);
    for (std::size_t i = 0; i < axes.size(); ++i) emit_.bind(axes[i], {digits[i]});
  }

  void allocate_kept(IndexId elements) {
    for (const auto& [expr, pass] : passes_.kept())
      arrays_[expr] = emit_.builder().scratch(nest_.exprs[expr].type, ir::Space::heap, emit_.size(elements));
  }

  ValueId compare(ir::Primitive op, ValueId a, ValueId b) {
    return emit_.builder().append({.op = op, .type = DType::boolean, .from = DType::i64, .in = {a, b, ir::no_value}});
  }
  ValueId half_of(ValueId row) {
    return emit_.builder().append({.op = ir::Primitive::bit_and, .type = DType::i64, .in = {row, emit_.number(1), ir::no_value}});
  }

  // What reductions of a pass came to, for the time when the row is the one before.
  void keep_results(std::uint32_t pass) {
    for (const auto& [expr, array] : results_)
      if (nest_.reductions[nest_.exprs[expr].number].stage == pass)
        emit_.builder().store({array, {{half_, Size::of(1)}}, {}}, emit_.value(expr));
  }

  // A scope in which an earlier row is bound, and what its reductions came to, with all that the last pass needs but elements.
  NestEmitter::Scope row_before(ValueId row, ValueId half) {
    emit_.enter({.alone = true});
    bind_rows(row);
    for (const auto& [expr, array] : results_) emit_.define(expr, emit_.builder().load({array, {{half, Size::of(1)}}, {}}));
    emit_.compute_invariant(passes_.roots(passes_.count()), set_of(context_.axes(true)));
    return emit_.leave();
  }

  void finish_row(const NestEmitter::Scope& row) {
    emit_.enter(row);
    store_outputs(emit_, true);
    emit_.leave();
  }

  // `beside` goes into the same loop: after the element's arithmetic, which it would hold up otherwise, and before the element is kept,
  // so that all loads from a scratch row precede the stores.
  std::vector<ValueId> reduce(Stage& stage, std::uint32_t pass, const std::function<void(ir::ReducedIndex)>& beside = {}) {
    const Size length = emit_.size(length_);
    return ir::emit_inner_reduction(emit_.builder(), length, blocks_of(context_, emit_, length_, ir::inner_block), stage.combine(),
                                    stage.identities(), [&](ir::ReducedIndex at) {
                                      emit_.enter();
                                      bind_row(context_, emit_, at);
                                      take(pass, at);
                                      std::vector<ValueId> tuple = stage.element();
                                      if (beside) beside(at);
                                      keep(pass, at);
                                      if (pass == passes_.count()) store_outputs(emit_, false);
                                      emit_.leave();
                                      return tuple;
                                    });
  }

  void elements(std::int32_t step, ValueId half) {
    const ValueId lane = emit_.open(LoopKind::serial, emit_.size(length_), step);
    last_pass({ir::no_value, lane}, half);
    emit_.close();
  }

  void last_pass(ir::ReducedIndex at, ValueId half) {
    const ValueId own = std::exchange(half_, half);
    bind_row(context_, emit_, at);
    take(passes_.count(), at);
    store_outputs(emit_, false);
    half_ = own;
  }

  ir::Access place(std::uint32_t array, ir::ReducedIndex at) {
    ir::Access access{array, {}, {}};
    if (half_ != ir::no_value) access.terms.push_back({half_, emit_.size(length_)});
    if (at.begin != ir::no_value) access.terms.push_back({at.begin, Size::of(1)});
    access.terms.push_back({at.step, Size::of(1)});
    return access;
  }

  // What earlier passes left in scratch, as far as this pass reads it: outermost first, which makes what is beneath unneeded.
  void take(std::uint32_t pass, ir::ReducedIndex at) {
    std::vector<bool> needed(nest_.exprs.size());
    for (const ExprId root : passes_.roots(pass)) needed[root] = true;
    for (std::size_t e = needed.size(); e-- > 0;) {
      const auto id = static_cast<ExprId>(e);
      if (!needed[e] || emit_.has(id)) continue;
      const auto kept = passes_.kept().find(id);
      if (kept != passes_.kept().end() && kept->second < pass) {
        emit_.define(id, emit_.builder().load(place(arrays_.at(id), at)));
        continue;
      }
      for (const ExprId in : nest_.exprs[e].in) needed[in] = true;
    }
  }

  void keep(std::uint32_t pass, ir::ReducedIndex at) {
    for (const auto& [expr, computed] : passes_.kept())
      if (computed == pass) emit_.builder().store(place(arrays_.at(expr), at), emit_.value(expr));
  }

  const Context& context_;
  const Nest& nest_;
  ir::IndexTable& index_;
  Lowered lowered_;
  NestEmitter emit_;
  const IndexId length_;
  Passes passes_;
  std::map<ExprId, std::uint32_t> arrays_, results_;  // scratch rows, and the results of reductions where rows are staggered
  ValueId half_ = ir::no_value;                       // of the scratch rows, where they are there twice
};

// Two phases: one over the blocks of the one row, and one that joins their results.
void schedule_one_row(const Context& context) {
  const Nest& nest = context.nest;
  ir::IndexTable& index = context.index();
  const IndexId length = context.product(context.extents(true));
  const IndexId blocks = index.max(index.ceil_div(length, index.number(ir::inner_block)), index.number(1));
  Lowered lowered = context.start();
  NestEmitter emit(nest, context.module.graph, index, lowered);
  take_outputs(emit, true);
  take_outputs(emit, false);
  Stage stage(emit, 1);
  std::vector<std::uint32_t> partials;
  for (const DType type : stage.types()) partials.push_back(emit.temporary(context.temporary(type, blocks), type, true));
  const auto at_block = [&](std::size_t member, ValueId block) { return ir::Access{partials[member], {{block, Size::of(1)}}, {}}; };
  const Size block_count = emit.size(blocks), row = emit.size(length);
  const ValueId block = emit.open(LoopKind::parallel, block_count);
  emit.compute_invariant(stage.operands(), set_of(context.axes(true)));
  emit.compute_invariant(output_exprs(nest, false), set_of(context.axes(true)));
  const ir::BlockRange range = ir::emit_block_range(emit.builder(), row, block, ir::inner_block);
  const std::vector<ValueId> joined =
      ir::emit_inner_block(emit.builder(), range.begin, range.count, stage.combine(), stage.identities(), [&](ir::ReducedIndex at) {
        emit.enter();
        bind_row(context, emit, at);
        std::vector<ValueId> tuple = stage.element();
        store_outputs(emit, false);
        emit.leave();
        return tuple;
      });
  for (std::size_t i = 0; i < joined.size(); ++i) emit.builder().store(at_block(i, block), joined[i]);
  emit.close();
  emit.open(LoopKind::parallel, Size::of(1));
  stage.define(ir::emit_join(emit.builder(), block_count, stage.combine(), [&](ValueId other) {
    std::vector<ValueId> tuple;
    for (std::size_t i = 0; i < partials.size(); ++i) tuple.push_back(emit.builder().load(at_block(i, other)));
    return tuple;
  }));
  store_outputs(emit, true);
  emit.close();
  context.finish(std::move(lowered), blocks, length, {{index.number(1), blocks}});
}

}  // namespace

void schedule_rows(const Context& context) {
  ir::IndexTable& index = context.index();
  const ir::IndexNode& length = index[context.product(context.extents(true))];
  const bool short_row = length.op == IndexOp::number && length.number <= 4 * ir::inner_block;
  const bool one_row = index.is_number(context.product(context.extents(false)), 1);
  if (one_row && !short_row && last_stage(context.nest) == 1 && !Passes(context).extra())
    schedule_one_row(context);
  else
    Rows(context).run();
}

}  // namespace braze::passes::cpu
