// Reductions of axes that kept ones follow, in the order of ir/reduce_order.h: blocks of 32 rows, joined pairwise.
//
// Two phases: the first is parallel over blocks and pieces of a row, so that it reads whole stretches of memory and spreads over the
// cores whether there are many rows or many columns; the second joins the blocks of each column. With few rows, or when a nest has
// several stages, one phase, parallel over columns. Both give the same bits.
#include <algorithm>
#include <functional>

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

// The parallel loop over the outer axes, `more`, and pieces of a row: the digits of `more`, the place among the outer axes, and the
// piece's columns.
struct Columns {
  std::vector<ValueId> more;
  ValueId outer = ir::no_value;
  ir::BlockRange range;
  ir::ReducedIndex column{ir::no_value, ir::no_value};
  IndexId extent;
  int loops = 1;
};
Columns open_outer(const Context& context, NestEmitter& emit, const Shape& shape, const std::vector<IndexId>& more,
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
    result.outer = i ? emit.add(emit.mul(result.outer, emit.size_value(shape.extents[i])), digits[i]) : digits[i];
  }
  for (std::size_t i = 0; i < more.size(); ++i) result.more.push_back(digits[shape.outer.size() + i]);
  if (!shape.has_columns) return result;
  result.range = ir::emit_block_range(emit.builder(), emit.size(shape.columns), digits.back(), piece_columns);
  result.column.begin = result.range.begin;
  return result;
}

// The same, and the vector loop over the piece's columns.
Columns open_columns(const Context& context, NestEmitter& emit, const Shape& shape) {
  Columns result = open_outer(context, emit, shape, {}, 8 * lanes(context));
  if (!shape.has_columns) return result;
  result.column.step = emit.open(LoopKind::serial, result.range.count, lanes(context));
  emit.bind(shape.column, {result.range.begin, result.column.step});
  result.loops = 2;
  return result;
}

// Where the partial result of a block stands: [outer, block, column].
ir::Access partial(const Columns& columns, NestEmitter& emit, std::uint32_t buffer, const Shape& shape, ValueId block,
                   IndexId blocks) {
  const ValueId row = emit.add(emit.mul(columns.outer, emit.size_value(blocks)), block);
  ir::Access access{buffer, {{row, emit.size(shape.columns)}}, {}};
  if (shape.has_columns) {
    access.terms.push_back({columns.column.begin, Size::of(1)});
    access.terms.push_back({columns.column.step, Size::of(1)});
  }
  return access;
}

// Where the blocks' results are between the phases.
struct Partials {
  std::vector<std::uint32_t> buffers;
  IndexId blocks, count;
};

Partials take_partials(const Context& context, NestEmitter& emit, const Stage& stage, const Shape& shape) {
  ir::IndexTable& index = context.index();
  Partials result;
  result.blocks = index.max(index.ceil_div(shape.rows, index.number(ir::outer_block)), index.number(1));
  result.count = index.mul(index.mul(context.product(shape.extents), result.blocks), shape.columns);
  for (const DType type : stage.types())
    result.buffers.push_back(emit.temporary(context.temporary(type, result.count), type, true));
  return result;
}

// The block's results of one column, or of the lanes of columns that a vector loop is at: from `sums` on, `count` rows from `begin`.
std::vector<ValueId> add_rows(const Context& context, NestEmitter& emit, const Shape& shape, Stage& stage, ValueId begin,
                              Size count, const std::vector<ValueId>& sums) {
  return ir::emit_outer_block(emit.builder(), begin, count, stage.combine(), sums, [&](ir::ReducedIndex at) {
    emit.enter();
    bind_rows(context, emit, shape, at);
    std::vector<ValueId> tuple = stage.element();
    store_outputs(emit, false);
    emit.leave();
    return tuple;
  });
}

// One block of a piece of a row. Its sums stand in scratch, and a few rows at a time are added to all of them: memory is read in a
// few long streams.
void add_block(const Context& context, NestEmitter& emit, const Shape& shape, Stage& stage, const ir::BlockRange& rows,
               const ir::BlockRange& columns, const std::function<ir::Access(std::size_t member, ValueId lane)>& result) {
  constexpr std::int64_t rows_at_once = 8;
  ir::KernelBuilder& builder = emit.builder();
  std::vector<std::uint32_t> sums;
  for (const DType type : stage.types()) sums.push_back(builder.scratch(type, ir::Space::heap, Size::of(piece)));
  const auto each_column = [&](const std::function<void(ValueId lane)>& body) {
    const ValueId lane = emit.open(LoopKind::serial, columns.count, lanes(context));
    emit.bind(shape.column, {columns.begin, lane});
    body(lane);
    emit.close();
  };
  const auto sum_at = [&](std::size_t member, ValueId lane) { return ir::Access{sums[member], {{lane, Size::of(1)}}, {}}; };
  each_column([&](ValueId lane) {
    for (std::size_t i = 0; i < sums.size(); ++i) builder.store(sum_at(i, lane), stage.identities()[i]);
  });
  const ValueId few = emit.number(rows_at_once);
  const ValueId rounds = emit.quo(emit.add(rows.count.value, emit.number(rows_at_once - 1)), few);
  const ValueId round = emit.open(LoopKind::serial, Size::of_value(rounds));
  const ir::BlockRange some = ir::emit_block_range(builder, rows.count, round, rows_at_once);
  const ValueId begin = emit.add(rows.begin, some.begin);
  each_column([&](ValueId lane) {
    std::vector<ValueId> now;
    for (std::size_t i = 0; i < sums.size(); ++i) now.push_back(builder.load(sum_at(i, lane)));
    const std::vector<ValueId> next = add_rows(context, emit, shape, stage, begin, some.count, now);
    for (std::size_t i = 0; i < sums.size(); ++i) builder.store(sum_at(i, lane), next[i]);
  });
  emit.close();
  each_column([&](ValueId lane) {
    for (std::size_t i = 0; i < sums.size(); ++i) builder.store(result(i, lane), builder.load(sum_at(i, lane)));
  });
}

// Gives the extent of the parallel loop.
IndexId add_blocks(const Context& context, NestEmitter& emit, const Shape& shape, Stage& stage, const Partials& partials) {
  const Nest& nest = context.nest;
  Columns columns = open_outer(context, emit, shape, {partials.blocks}, piece);
  const ir::BlockRange rows = ir::emit_block_range(emit.builder(), emit.size(shape.rows), columns.more[0], ir::outer_block);
  AxisSet inside = set_of(context.axes(true));
  if (shape.has_columns) inside |= set_of({shape.column});
  emit.compute_invariant(stage.operands(), inside);
  emit.compute_invariant(output_exprs(nest, false), inside);
  const auto result = [&](std::size_t member, ValueId lane) {
    columns.column.step = lane;
    return partial(columns, emit, partials.buffers[member], shape, columns.more[0], partials.blocks);
  };
  if (shape.has_columns) {
    add_block(context, emit, shape, stage, rows, columns.range, result);
  } else {
    const std::vector<ValueId> sums = add_rows(context, emit, shape, stage, rows.begin, rows.count, stage.identities());
    for (std::size_t i = 0; i < sums.size(); ++i) emit.builder().store(result(i, ir::no_value), sums[i]);
  }
  emit.close();
  return columns.extent;
}

IndexId join_blocks(const Context& context, NestEmitter& emit, const Shape& shape, Stage& stage, const Partials& partials) {
  const Size block_count = emit.size(partials.blocks);
  const Columns columns = open_columns(context, emit, shape);
  stage.define(ir::emit_join(emit.builder(), block_count, stage.combine(), [&](ValueId at) {
    std::vector<ValueId> tuple;
    for (const std::uint32_t buffer : partials.buffers)
      tuple.push_back(emit.builder().load(partial(columns, emit, buffer, shape, at, partials.blocks)));
    return tuple;
  }));
  store_outputs(emit, true);
  for (int loops = columns.loops; loops > 0; --loops) emit.close();
  return columns.extent;
}

void schedule_two_phases(const Context& context) {
  const Shape shape = shape_of(context);
  Lowered lowered = context.start();
  NestEmitter emit(context.nest, context.module.graph, context.index(), lowered);
  take_outputs(emit, true);
  take_outputs(emit, false);
  Stage stage(emit, 1);
  const Partials partials = take_partials(context, emit, stage, shape);
  const IndexId blocks = add_blocks(context, emit, shape, stage, partials);
  const IndexId joins = join_blocks(context, emit, shape, stage, partials);
  context.finish(std::move(lowered), blocks, context.elements(), {{joins, partials.count}});
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
  const Columns columns = open_columns(context, emit, shape);
  const std::uint32_t stages = last_stage(nest);
  const AxisSet reduced = set_of(context.axes(true));
  std::vector<ExprId> roots = output_exprs(nest, false);
  for (const Reduction& reduction : nest.reductions) roots.push_back(reduction.operand);
  for (std::uint32_t number = 1; number <= stages; ++number) {
    emit.compute_invariant(roots, reduced);
    Stage stage(emit, number);
    stage.define(
        ir::emit_outer_reduction(emit.builder(), rows, blocks, stage.combine(), stage.identities(), [&](ir::ReducedIndex at) {
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
  if (few || waits || last_stage(context.nest) > 1) {
    schedule_one_phase(context);
    return;
  }
  schedule_two_phases(context);
}

}  // namespace braze::passes::cpu
