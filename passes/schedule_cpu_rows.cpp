// Reductions of the operand's last axes, and all that is fused around them, in the order of ir/reduce_order.h.
//
// Rows: parallel over rows. A row is read once for each stage and once more for what is stored an element and needs the last stage.
// What a later pass reads of an earlier one is computed again, or kept in a scratch row if that costs more than memory does.
// One row by its structure: two kernels, so that its blocks spread over the cores. Both give the same bits.
#include <algorithm>
#include <map>

#include "ir/error.h"
#include "ir/meaning.h"
#include "passes/schedule_cpu.h"

namespace braze::passes::cpu {

using ir::IndexId;
using ir::IndexOp;
using ir::LoopKind;
using ir::Size;
using ir::ValueId;

namespace {

// An expression of the element that costs more than this is kept from pass to pass.
constexpr int worth_keeping = 12;

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

  std::uint32_t count() const { return count_; }        // of passes, numbered from 1; pass p may read reductions of stages before p
  bool extra() const { return extra_; }                 // the last one reduces nothing
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
        if (computed[e] != 0 && computed[e] < pass && !kept_.contains(id) && cost_of(id, emit) > worth_keeping) kept_[id] = computed[e];
        if (kept_.contains(id) && kept_[id] < pass) continue;
        for (const ExprId in : nest_.exprs[e].in) needed[in] = true;
        if (computed[e] == 0) computed[e] = pass;
      }
    }
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
      : context_(context), nest_(context.nest), index_(context.index()), lowered_(context.start()),
        emit_(nest_, context.module.graph, index_, lowered_), length_(context.product(context.extents(true))), passes_(context) {}

  void run() {
    take_outputs(emit_, true);
    take_outputs(emit_, false);
    passes_.choose(emit_);
    const std::vector<IndexId> rows = context_.extents(false);
    const IndexId extent = context_.product(rows);
    const Size size = emit_.size(extent);
    const std::vector<ValueId> digits = emit_.digits(emit_.open(LoopKind::parallel, size), rows);
    const std::vector<Variable> axes = context_.axes(false);
    for (std::size_t i = 0; i < axes.size(); ++i) emit_.bind(axes[i], {digits[i]});
    for (const auto& [expr, pass] : passes_.kept())
      arrays_[expr] = emit_.builder().scratch(nest_.exprs[expr].type, ir::Space::heap, emit_.size(length_));
    const std::uint32_t stages = last_stage(nest_);
    for (std::uint32_t pass = 1; pass <= passes_.count(); ++pass) {
      emit_.compute_invariant(passes_.roots(pass), set_of(context_.axes(true)));
      pass <= stages ? reduce(pass) : elements();
    }
    store_outputs(emit_, true);
    emit_.close();
    context_.finish(std::move(lowered_), extent, context_.elements());
  }

 private:
  void reduce(std::uint32_t pass) {
    Stage stage(emit_, pass);
    const Size length = emit_.size(length_);
    stage.define(ir::emit_inner_reduction(emit_.builder(), length, blocks_of(context_, emit_, length_, ir::inner_block), stage.combine(),
                                          stage.identities(), [&](ir::ReducedIndex at) {
                                            emit_.enter();
                                            bind_row(context_, emit_, at);
                                            take(pass, at);
                                            std::vector<ValueId> tuple = stage.element();
                                            keep(pass, at);
                                            if (pass == passes_.count()) store_outputs(emit_, false);
                                            emit_.leave();
                                            return tuple;
                                          }));
  }

  void elements() {
    const Size length = emit_.size(length_);
    const ValueId lane = emit_.open(LoopKind::serial, length, lanes(context_));
    const ir::ReducedIndex at{ir::no_value, lane};
    bind_row(context_, emit_, at);
    take(passes_.count(), at);
    store_outputs(emit_, false);
    emit_.close();
  }

  static ir::Access place(std::uint32_t array, ir::ReducedIndex at) {
    ir::Access access{array, {}, {}};
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
  std::map<ExprId, std::uint32_t> arrays_;
};

// A kernel over the blocks of the one row, and one that joins their results.
void schedule_one_row(const Context& context) {
  const Nest& nest = context.nest;
  ir::IndexTable& index = context.index();
  const IndexId length = context.product(context.extents(true));
  const IndexId blocks = index.max(index.ceil_div(length, index.number(ir::inner_block)), index.number(1));
  std::vector<ir::Value> partials;

  Lowered first = context.start("_blocks");
  NestEmitter emit(nest, context.module.graph, index, first);
  take_outputs(emit, false);
  {
    Stage stage(emit, 1);
    std::vector<std::uint32_t> buffers;
    for (const DType type : stage.types()) {
      partials.push_back(context.temporary(type, blocks));
      buffers.push_back(emit.temporary(partials.back(), type, true));
    }
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
    for (std::size_t i = 0; i < joined.size(); ++i) emit.builder().store({buffers[i], {{block, Size::of(1)}}, {}}, joined[i]);
    emit.close();
  }
  context.finish(std::move(first), blocks, length);

  Lowered second = context.start();
  NestEmitter join(nest, context.module.graph, index, second);
  take_outputs(join, true);
  {
    Stage stage(join, 1);
    std::vector<std::uint32_t> buffers;
    for (std::size_t i = 0; i < partials.size(); ++i) buffers.push_back(join.temporary(partials[i], stage.types()[i], false));
    const Size block_count = join.size(blocks);
    join.open(LoopKind::parallel, Size::of(1));
    stage.define(ir::emit_join(join.builder(), block_count, stage.combine(), [&](ValueId block) {
      std::vector<ValueId> tuple;
      for (const std::uint32_t buffer : buffers) tuple.push_back(join.builder().load({buffer, {{block, Size::of(1)}}, {}}));
      return tuple;
    }));
    store_outputs(join, true);
    join.close();
  }
  context.finish(std::move(second), index.number(1), blocks);
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
