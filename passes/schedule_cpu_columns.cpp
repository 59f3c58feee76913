// Reductions of axes that kept ones follow, in the order of ir/reduce_order.h: blocks of 32 rows, joined pairwise.
//
// Two kernels: the first is parallel over blocks and pieces of a row, so that it reads whole stretches of memory and spreads over the
// cores whether there are many rows or many columns; the second joins the blocks of each column. With few rows, or when a nest has
// several stages, one kernel, parallel over columns. Both give the same bits.
#include <algorithm>

#include "ir/error.h"
#include "passes/schedule_cpu.h"

namespace braze::passes::cpu {

using ir::IndexId;
using ir::IndexOp;
using ir::LoopKind;
using ir::Size;
using ir::ValueId;

namespace {

// The kept axes: the last one (if it follows the reduced ones) is the columns, a vector loop; all others are taken one by one.
struct Shape {
  std::vector<Variable> outer, reduced;
  bool has_columns = false;
  Variable column = 0;
  IndexId rows, columns;         // their numbers
  std::vector<IndexId> extents;  // of the outer axes
};

Shape shape_of(const Context& context) {
  Shape shape;
  shape.outer = context.axes(false);
  shape.reduced = context.axes(true);
  shape.rows = context.product(context.extents(true));
  shape.columns = context.index().number(1);
  if (!shape.outer.empty() && (shape.reduced.empty() || shape.outer.back() > shape.reduced.back())) {
    shape.has_columns = true;
    shape.column = shape.outer.back();
    shape.columns = context.nest.axes[shape.column].extent;
    shape.outer.pop_back();
  }
  for (const Variable axis : shape.outer) shape.extents.push_back(context.nest.axes[axis].extent);
  return shape;
}

void bind_rows(const Context& context, NestEmitter& emit, const Shape& shape, ir::ReducedIndex at) {
  std::vector<ValueId> parts;
  if (at.begin != ir::no_value) parts.push_back(at.begin);
  parts.push_back(at.step);
  if (shape.reduced.size() == 1) {
    emit.bind(shape.reduced[0], parts);
    return;
  }
  const ValueId position = parts.size() == 1 ? parts[0] : emit.add(parts[0], parts[1]);
  const std::vector<ValueId> digits = emit.digits(position, context.extents(true));
  for (std::size_t i = 0; i < shape.reduced.size(); ++i) emit.bind(shape.reduced[i], {digits[i]});
}

// Opens the parallel loop over the outer axes, `more`, and pieces of a row, then the vector loop over a piece's columns. Returns the
// digits of `more`, the place among the outer axes, and the column.
struct Columns {
  std::vector<ValueId> more;
  ValueId outer = ir::no_value;
  ir::ReducedIndex column{ir::no_value, ir::no_value};
  IndexId extent;
  int loops = 1;
};
Columns open_columns(const Context& context, NestEmitter& emit, const Shape& shape, const std::vector<IndexId>& more,
                     std::int64_t piece_columns) {
  ir::IndexTable& index = context.index();
  std::vector<IndexId> extents = shape.extents;
  extents.insert(extents.end(), more.begin(), more.end());
  if (shape.has_columns) extents.push_back(index.ceil_div(shape.columns, index.number(piece_columns)));
  Columns result;
  result.extent = context.product(extents);
  const Size size = emit.size(result.extent);
  const std::vector<ValueId> digits = emit.digits(emit.open(LoopKind::parallel, size), extents);
  result.outer = emit.number(0);
  for (std::size_t i = 0; i < shape.outer.size(); ++i) {
    emit.bind(shape.outer[i], {digits[i]});
    result.outer = emit.add(emit.mul(result.outer, emit.size_value(shape.extents[i])), digits[i]);
  }
  for (std::size_t i = 0; i < more.size(); ++i) result.more.push_back(digits[shape.outer.size() + i]);
  if (!shape.has_columns) return result;
  const ir::BlockRange range = ir::emit_block_range(emit.builder(), emit.size(shape.columns), digits.back(), piece_columns);
  const ValueId lane = emit.open(LoopKind::serial, range.count, lanes(context));
  emit.bind(shape.column, {range.begin, lane});
  result.column = {range.begin, lane};
  result.loops = 2;
  return result;
}

// Where the partial result of a block stands: [outer, block, column].
ir::Access partial(const Columns& columns, NestEmitter& emit, std::uint32_t buffer, const Shape& shape, ValueId block, IndexId blocks) {
  const ValueId row = emit.add(emit.mul(columns.outer, emit.size_value(blocks)), block);
  ir::Access access{buffer, {{row, emit.size(shape.columns)}}, {}};
  if (shape.has_columns) {
    access.terms.push_back({columns.column.begin, Size::of(1)});
    access.terms.push_back({columns.column.step, Size::of(1)});
  }
  return access;
}

void schedule_two_phases(const Context& context) {
  const Nest& nest = context.nest;
  ir::IndexTable& index = context.index();
  const Shape shape = shape_of(context);
  const IndexId blocks = index.max(index.ceil_div(shape.rows, index.number(ir::outer_block)), index.number(1));
  const IndexId partial_count = index.mul(index.mul(context.product(shape.extents), blocks), shape.columns);
  std::vector<ir::Value> partials;

  Lowered first = context.start("_blocks");
  NestEmitter emit(nest, context.module.graph, index, first);
  take_outputs(emit, false);
  Stage stage(emit, 1);
  std::vector<std::uint32_t> buffers;
  for (const DType type : stage.types()) {
    partials.push_back(context.temporary(type, partial_count));
    buffers.push_back(emit.temporary(partials.back(), type, true));
  }
  const Columns columns = open_columns(context, emit, shape, {blocks}, piece);
  const ValueId block = columns.more[0];
  emit.compute_invariant(stage.operands(), set_of(context.axes(true)));
  emit.compute_invariant(output_exprs(nest, false), set_of(context.axes(true)));
  const ir::BlockRange range = ir::emit_block_range(emit.builder(), emit.size(shape.rows), block, ir::outer_block);
  const std::vector<ValueId> joined =
      ir::emit_outer_block(emit.builder(), range.begin, range.count, stage.combine(), stage.identities(), [&](ir::ReducedIndex at) {
        emit.enter();
        bind_rows(context, emit, shape, at);
        std::vector<ValueId> tuple = stage.element();
        store_outputs(emit, false);
        emit.leave();
        return tuple;
      });
  for (std::size_t i = 0; i < joined.size(); ++i)
    emit.builder().store(partial(columns, emit, buffers[i], shape, block, blocks), joined[i]);
  for (int loops = columns.loops; loops > 0; --loops) emit.close();
  context.finish(std::move(first), columns.extent, context.elements());

  Lowered second = context.start();
  NestEmitter join(nest, context.module.graph, index, second);
  take_outputs(join, true);
  Stage last(join, 1);
  std::vector<std::uint32_t> read;
  for (std::size_t i = 0; i < partials.size(); ++i) read.push_back(join.temporary(partials[i], last.types()[i], false));
  const Size block_count = join.size(blocks);
  const Columns strips = open_columns(context, join, shape, {}, 8 * lanes(context));
  last.define(ir::emit_join(join.builder(), block_count, last.combine(), [&](ValueId at) {
    std::vector<ValueId> tuple;
    for (const std::uint32_t buffer : read) tuple.push_back(join.builder().load(partial(strips, join, buffer, shape, at, blocks)));
    return tuple;
  }));
  store_outputs(join, true);
  for (int loops = strips.loops; loops > 0; --loops) join.close();
  context.finish(std::move(second), strips.extent, partial_count);
}

void schedule_one_phase(const Context& context) {
  const Nest& nest = context.nest;
  ir::IndexTable& index = context.index();
  const Shape shape = shape_of(context);
  Lowered lowered = context.start();
  NestEmitter emit(nest, context.module.graph, index, lowered);
  take_outputs(emit, true);
  take_outputs(emit, false);
  const Size rows = emit.size(shape.rows);
  const Size blocks = emit.size(index.max(index.ceil_div(shape.rows, index.number(ir::outer_block)), index.number(1)));
  const Columns columns = open_columns(context, emit, shape, {}, 8 * lanes(context));
  const std::uint32_t stages = last_stage(nest);
  const AxisSet reduced = set_of(context.axes(true));
  std::vector<ExprId> roots = output_exprs(nest, false);
  for (const Reduction& reduction : nest.reductions) roots.push_back(reduction.operand);
  for (std::uint32_t number = 1; number <= stages; ++number) {
    emit.compute_invariant(roots, reduced);
    Stage stage(emit, number);
    stage.define(ir::emit_outer_reduction(emit.builder(), rows, blocks, stage.combine(), stage.identities(), [&](ir::ReducedIndex at) {
      emit.enter();
      bind_rows(context, emit, shape, at);
      std::vector<ValueId> tuple = stage.element();
      emit.leave();
      return tuple;
    }));
  }
  if (has_outputs(nest, false)) {
    emit.compute_invariant(roots, reduced);
    const ValueId row = emit.open(LoopKind::serial, rows);
    bind_rows(context, emit, shape, {ir::no_value, row});
    store_outputs(emit, false);
    emit.close();
  }
  store_outputs(emit, true);
  for (int loops = columns.loops; loops > 0; --loops) emit.close();
  context.finish(std::move(lowered), columns.extent, context.elements());
}

}  // namespace

void schedule_columns(const Context& context) {
  const ir::IndexNode& rows = context.index()[shape_of(context).rows];
  const bool few = rows.op == IndexOp::number && rows.number <= ir::outer_block;
  // What is stored an element must not wait for the reductions.
  std::vector<bool> late(context.nest.exprs.size());
  for (std::size_t e = 0; e < late.size(); ++e) {
    late[e] = context.nest.exprs[e].kind == Expr::Kind::reduced;
    for (const ExprId in : context.nest.exprs[e].in) late[e] = late[e] || late[in];
  }
  const std::vector<ExprId> elements = output_exprs(context.nest, false);
  const bool waits = std::any_of(elements.begin(), elements.end(), [&](ExprId e) { return late[e]; });
  if (few || waits || last_stage(context.nest) > 1)
    schedule_one_phase(context);
  else
    schedule_two_phases(context);
}

}  // namespace braze::passes::cpu
