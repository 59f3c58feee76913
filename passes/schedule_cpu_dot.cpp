// dot: C[m, n] = sum over k of A[m, k] * B[k, n], with what is fused into the factors and after the product.
//
// Parallel over batches, strips of columns (one vector loop wide) and chunks of rows. In a strip, B is packed a block of k at a time, then a
// few rows of the strip are held in registers while k runs. Each element is the chain fma(a, b, sum) over k in order, from 0, in
// the compute type: blocks only pause the chain, so that its bits depend on no blocking.
#include <algorithm>

#include "ir/error.h"
#include "passes/schedule_cpu.h"

namespace braze::passes::cpu {

using ir::IndexId;
using ir::LoopKind;
using ir::Primitive;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::int64_t k_block = 512;    // rows of B packed at a time
constexpr std::int64_t row_blocks = 10;  // a chunk of rows, in blocks held in registers

class Contract {
 public:
  explicit Contract(const Context& context)
      : context_(context),
        nest_(context.nest),
        index_(context.index()),
        lowered_(context.start()),
        emit_(nest_, context.module.graph, index_, lowered_),
        dot_(nest_.contractions[0]),
        k_(static_cast<Variable>(nest_.axes.size() - 1)),
        n_(k_ - 1),
        m_(k_ - 2),
        lanes_(lanes(context)),
        held_(context.target.vector_bytes >= 64 ? 12 : 6),
        type_(compute_type(context.module.graph.type(dot_.value).dtype)) {}

  void run() {
    take_outputs(emit_, true);
    std::vector<IndexId> extents;
    for (Variable axis = 0; axis < m_; ++axis) extents.push_back(nest_.axes[axis].extent);
    extents.push_back(index_.ceil_div(nest_.axes[n_].extent, index_.number(lanes_)));
    extents.push_back(index_.ceil_div(nest_.axes[m_].extent, index_.number(chunk())));
    const IndexId extent = context_.product(extents);
    const Size size = emit_.size(extent);
    const std::vector<ValueId> digits = emit_.digits(emit_.open(LoopKind::parallel, size), extents);
    for (Variable axis = 0; axis < m_; ++axis) emit_.bind(axis, {digits[axis]});
    columns_ = ir::emit_block_range(builder(), extent_of(n_), digits[m_], lanes_);
    rows_ = ir::emit_block_range(builder(), extent_of(m_), digits[m_ + 1], chunk());
    const ValueId lane = emit_.open(LoopKind::serial, columns_.count, lanes_);
    emit_.bind(n_, {columns_.begin, lane});
    packed_ = builder().scratch(type_, ir::Space::heap, Size::of(k_block));
    sums_ = builder().scratch(type_, ir::Space::heap, Size::of(chunk()));
    clear();
    const Size blocks = emit_.size(index_.ceil_div(nest_.axes[k_].extent, index_.number(k_block)));
    const ValueId block = emit_.open(LoopKind::serial, blocks);
    const ir::BlockRange depth = ir::emit_block_range(builder(), extent_of(k_), block, k_block);
    pack(depth);
    multiply(depth);
    emit_.close();
    finish_rows();
    emit_.close();
    emit_.close();
    context_.finish(std::move(lowered_), extent, context_.elements());
  }

 private:
  ir::KernelBuilder& builder() { return emit_.builder(); }
  std::int64_t chunk() const { return held_ * row_blocks; }
  Size extent_of(Variable axis) { return emit_.size(nest_.axes[axis].extent); }
  ir::Access sum_at(ValueId row) const { return {sums_, {{row, Size::of(1)}}, {}}; }

  ValueId wide(ExprId expr) {
    const ValueId value = emit_.wide_value(expr);
    const DType from = builder().type(value);
    if (from == type_) return value;
    return builder().append({.op = Primitive::convert, .type = type_, .from = from, .in = {value, ir::no_value, ir::no_value}});
  }

  ValueId multiply_add(ValueId a, ValueId b, ValueId sum) {
    if (is_float(type_)) return builder().append({.op = Primitive::fma, .type = type_, .in = {a, b, sum}});
    const bool boolean = type_ == DType::boolean;
    const ValueId product =
        builder().append({.op = boolean ? Primitive::bit_and : Primitive::mul, .type = type_, .in = {a, b, ir::no_value}});
    return builder().append(
        {.op = boolean ? Primitive::bit_or : Primitive::add, .type = type_, .in = {product, sum, ir::no_value}});
  }

  void clear() {
    const ValueId row = emit_.open(LoopKind::serial, rows_.count);
    builder().store(sum_at(row), builder().constant(type_, 0));
    emit_.close();
  }

  void pack(const ir::BlockRange& depth) {
    const ValueId k = emit_.open(LoopKind::serial, depth.count);
    emit_.bind(k_, {depth.begin, k});
    builder().store({packed_, {{k, Size::of(1)}}, {}}, wide(dot_.right));
    emit_.close();
  }

  // Blocks of held_ rows; past the last row, the last one is computed again and not kept.
  void multiply(const ir::BlockRange& depth) {
    const ValueId held = emit_.number(held_);
    const ValueId blocks = emit_.quo(emit_.add(rows_.count.value, emit_.number(held_ - 1)), held);
    const ValueId block = emit_.open(LoopKind::serial, Size::of_value(blocks));
    const ValueId first = emit_.mul(block, held), last = emit_.sub(rows_.count.value, emit_.number(1));
    std::vector<ValueId> rows, sums;
    for (std::int64_t r = 0; r < held_; ++r) {
      rows.push_back(emit_.min(emit_.add(first, emit_.number(r)), last));
      sums.push_back(builder().load(sum_at(rows.back())));
    }
    const ValueId k = emit_.open(LoopKind::serial, depth.count);
    for (ValueId& sum : sums) sum = builder().carry(sum);
    const ValueId b = builder().load({packed_, {{k, Size::of(1)}}, {}});
    for (std::size_t r = 0; r < sums.size(); ++r) {
      emit_.enter();
      emit_.bind(m_, {rows_.begin, rows[r]});
      emit_.bind(k_, {depth.begin, k});
      builder().yield(r, multiply_add(wide(dot_.left), b, sums[r]));
      emit_.leave();
    }
    const std::vector<ValueId> results = emit_.close();
    for (std::size_t r = 0; r < results.size(); ++r) builder().store(sum_at(rows[r]), results[r]);
    emit_.close();
  }

  void finish_rows() {
    const ValueId row = emit_.open(LoopKind::serial, rows_.count);
    emit_.bind(m_, {rows_.begin, row});
    const ValueId sum = builder().load(sum_at(row));
    for (ExprId e = 0; e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      if (expr.kind != Expr::Kind::reduced) continue;
      emit_.define(
          e, expr.type == type_
                 ? sum
                 : builder().append(
                       {.op = Primitive::convert, .type = expr.type, .from = type_, .in = {sum, ir::no_value, ir::no_value}}));
    }
    store_outputs(emit_, true);
    emit_.close();
  }

  const Context& context_;
  const Nest& nest_;
  ir::IndexTable& index_;
  Lowered lowered_;
  NestEmitter emit_;
  const Contraction dot_;
  const Variable k_, n_, m_;
  const std::int32_t lanes_;
  const std::int64_t held_;  // rows in registers
  const DType type_;
  ir::BlockRange columns_, rows_;
  std::uint32_t packed_ = 0, sums_ = 0;
};

}  // namespace

void schedule_contraction(const Context& context) { Contract(context).run(); }

}  // namespace braze::passes::cpu
