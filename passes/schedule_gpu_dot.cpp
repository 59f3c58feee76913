// dot on the GPU: a block computes a tile of 64 x 64 results, a thread 4 x 4 of them in registers. Both factors come through shared
// memory in slices of 16, with whatever is fused into them computed on the way; what is fused after the dot happens on the registers.
// Factors past an edge count as zero. An element is one chain of fused multiply-adds in order of k, whatever the sizes.
#include "passes/schedule_gpu.h"

namespace braze::passes::gpu {

using ir::IndexId;
using ir::LoopKind;
using ir::Primitive;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::int64_t tile = 64, depth = 16, side = 16, per_thread = tile / side;

class Dot {
 public:
  explicit Dot(const Context& context)
      : context_(context),
        writer_(context),
        emit_(writer_.emit()),
        dot_(context.nest.contractions[0]),
        m_(static_cast<Variable>(context.nest.axes.size() - 3)),
        type_(compute_type(context.nest.exprs[dot_.left].type)) {}

  void run() {
    ir::IndexTable& index = context_.index();
    writer_.take(true);
    writer_.take(false);
    std::vector<IndexId> blocks = context_.extents(true, false);
    blocks[m_] = index.ceil_div(extent(m_), index.number(tile));
    blocks[m_ + 1] = index.ceil_div(extent(m_ + 1), index.number(tile));
    const std::uint32_t left = emit_.builder().scratch(type_, ir::Space::shared, Size::of(tile * depth));
    const std::uint32_t right = emit_.builder().scratch(type_, ir::Space::shared, Size::of(depth * tile));
    const std::vector<ValueId> digits = writer_.open_blocks(blocks);
    for (Variable axis = 0; axis < m_; ++axis) emit_.bind(axis, {digits[axis]});
    row_ = emit_.mul(digits[m_], emit_.number(tile));
    column_ = emit_.mul(digits[m_ + 1], emit_.number(tile));
    thread_row_ = writer_.open_threads(side);
    thread_column_ = writer_.open_threads(side);
    sums_ = emit_.builder().scratch(type_, ir::Space::registers, Size::of(per_thread * per_thread));
    zero_ = emit_.builder().constant(type_, 0);

    const ValueId cleared = open(per_thread * per_thread);
    emit_.builder().store({sums_, {{cleared, Size::of(1)}}, {}}, zero_);
    emit_.close();

    const ValueId slices = emit_.size_value(index.ceil_div(extent(m_ + 2), index.number(depth)));
    const ValueId slice = emit_.open(LoopKind::serial, Size::of_value(slices));
    const ValueId k = emit_.mul(slice, emit_.number(depth));
    load(dot_.left, left, depth, {m_, row_}, {m_ + 2, k});
    load(dot_.right, right, tile, {m_ + 2, k}, {m_ + 1, column_});
    emit_.builder().barrier();
    multiply(left, right);
    emit_.builder().barrier();
    emit_.close();

    finish();
    for (int loops = 0; loops < 3; ++loops) emit_.close();
    writer_.finish();
  }

 private:
  struct Along {
    Variable axis;
    ValueId begin;
  };

  IndexId extent(Variable axis) const { return context_.nest.axes[axis].extent; }
  ValueId open(std::int64_t count) { return emit_.open(LoopKind::unrolled, Size::of(count)); }
  ValueId append(Primitive op, ValueId a, ValueId b, ValueId c = ir::no_value) {
    return emit_.builder().append({.op = op, .type = type_, .in = {a, b, c}});
  }

  // The block's threads bring a slice of one factor, `width` elements a row, neighbours along the row.
  void load(ExprId factor, std::uint32_t shared, std::int64_t width, Along outer, Along inner) {
    const ValueId thread = emit_.add(emit_.mul(thread_row_, emit_.number(side)), thread_column_);
    const ValueId round = open(tile * depth / block_threads);
    const ValueId element = emit_.add(thread, emit_.mul(round, emit_.number(block_threads)));
    const ValueId i = emit_.quo(element, emit_.number(width)), j = emit_.rem(element, emit_.number(width));
    emit_.bind(outer.axis, {outer.begin, i});
    emit_.bind(inner.axis, {inner.begin, j});
    const ValueId inside = writer_.both(writer_.less(emit_.add(outer.begin, i), emit_.size_value(extent(outer.axis))),
                                        writer_.less(emit_.add(inner.begin, j), emit_.size_value(extent(inner.axis))));
    writer_.mask(round, inside);
    emit_.builder().store({shared, {{i, Size::of(width)}, {j, Size::of(1)}}, {}},
                          writer_.select(inside, emit_.wide_value(factor), zero_));
    emit_.close();
  }

  void multiply(std::uint32_t left, std::uint32_t right) {
    const ValueId row = emit_.mul(thread_row_, emit_.number(per_thread)),
                  column = emit_.mul(thread_column_, emit_.number(per_thread));
    const ValueId k = open(depth), i = open(per_thread), j = open(per_thread);
    const ir::Access sum{sums_, {{i, Size::of(per_thread)}, {j, Size::of(1)}}, {}};
    const ValueId a = emit_.builder().load({left, {{row, Size::of(depth)}, {i, Size::of(depth)}, {k, Size::of(1)}}, {}});
    const ValueId b = emit_.builder().load({right, {{k, Size::of(tile)}, {column, Size::of(1)}, {j, Size::of(1)}}, {}});
    const ValueId before = emit_.builder().load(sum);
    emit_.builder().store(
        sum, is_float(type_) ? append(Primitive::fma, a, b, before) : append(Primitive::add, before, append(Primitive::mul, a, b)));
    for (int loops = 0; loops < 3; ++loops) emit_.close();
  }

  void finish() {
    const ValueId row = emit_.mul(thread_row_, emit_.number(per_thread)),
                  column = emit_.mul(thread_column_, emit_.number(per_thread));
    const ValueId i = open(per_thread), j = open(per_thread);
    emit_.bind(m_, {row_, row, i});
    emit_.bind(m_ + 1, {column_, column, j});
    const ValueId inside = writer_.both(writer_.less(emit_.add(emit_.add(row_, row), i), emit_.size_value(extent(m_))),
                                        writer_.less(emit_.add(emit_.add(column_, column), j), emit_.size_value(extent(m_ + 1))));
    writer_.mask(j, inside);
    const ValueId sum = emit_.builder().load({sums_, {{i, Size::of(per_thread)}, {j, Size::of(1)}}, {}});
    for (std::size_t e = 0; e < context_.nest.exprs.size(); ++e) {
      const Expr& expr = context_.nest.exprs[e];
      if (expr.kind == Expr::Kind::reduced) emit_.define(static_cast<ExprId>(e), rounded(sum, expr.type));
    }
    writer_.store(true);
    writer_.store(false);
    emit_.close();
    emit_.close();
  }

  ValueId rounded(ValueId value, DType type) {
    if (type == type_) return value;
    return emit_.builder().append(
        {.op = Primitive::convert, .type = type, .from = type_, .in = {value, ir::no_value, ir::no_value}});
  }

  const Context& context_;
  Writer writer_;
  NestEmitter& emit_;
  const Contraction& dot_;
  const Variable m_;  // then n and k
  const DType type_;
  ValueId row_ = 0, column_ = 0, thread_row_ = 0, thread_column_ = 0, zero_ = 0;
  std::uint32_t sums_ = 0;
};

}  // namespace

void schedule_contraction(const Context& context) { Dot(context).run(); }

}  // namespace braze::passes::gpu
