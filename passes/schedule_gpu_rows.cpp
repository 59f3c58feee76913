// Nests that reduce, on the GPU. The threads of a row take its elements in turn, once for every stage and once more for what is stored an
// element; after each stage they join what they hold, so that every thread knows the row's values.
//
// Who works on a row
//  * 256 threads, a block: rows that are contiguous and long, or of unknown length.
//  * 32 threads, a warp, eight of them a block: contiguous rows of at most 1024 elements.
//  * 8 threads that lie 32 apart: where another axis is the contiguous one, so that a warp reads 32 neighbouring columns.
//
// The order is fixed by that choice and the row's length: element i goes to lane i mod lanes, which takes its elements in order; lanes of a
// warp join by the tree 16, 8, 4, 2, 1, warps (or the eight lanes of a column) in order.
#include <algorithm>
#include <functional>

#include "ir/reduce_order.h"
#include "passes/accumulator.h"
#include "passes/schedule_gpu.h"

namespace braze::passes::gpu {

using ir::IndexId;
using ir::LoopKind;
using ir::Primitive;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::int64_t warp = 32, warps = block_threads / warp, warp_row = 1024;

enum class Team { block, warp, column };

Team team_of(const Context& context) {
  const ir::IndexTable& index = context.index();
  const bool has_rows = !context.extents(true, false).empty();
  if (context.nest.order == ReduceOrder::outer && has_rows) return Team::column;
  for (const IndexId extent : context.extents(false, true))
    if (index[extent].op != ir::IndexOp::number || index[extent].number > warp_row) return Team::block;
  return has_rows ? Team::warp : Team::block;
}

class Rows {
 public:
  explicit Rows(const Context& context)
      : context_(context), nest_(context.nest), team_(team_of(context)), writer_(context), emit_(writer_.emit()) {
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis) {
      (nest_.axes[axis].reduced ? reduced_ : kept_).push_back(static_cast<Variable>(axis));
      if (nest_.axes[axis].reduced) reduced_set_ |= AxisSet{1} << std::min<std::size_t>(axis, 63);
    }
    for (const Output& output : nest_.outputs) roots_.push_back(output.expr);
    for (const Reduction& reduction : nest_.reductions) roots_.push_back(reduction.operand);
  }

  void run() {
    for (const Reduction& reduction : nest_.reductions) {
      accumulators_.push_back(accumulator(reduction.op, nest_.exprs[reduction.operand].type));
      combines_.push_back(writer_.builder().combine(accumulators_.back().combine));
    }
    open_rows();
    std::uint32_t stages = 0;
    for (const Reduction& reduction : nest_.reductions) stages = std::max(stages, reduction.stage);
    for (std::uint32_t stage = 1; stage <= stages; ++stage) {
      emit_.compute_invariant(roots_, reduced_set_);
      reduce(stage);
    }
    writer_.store(true, writer_.is_zero(lane_));
    if (std::any_of(nest_.outputs.begin(), nest_.outputs.end(), [](const Output& o) { return !o.row; })) {
      emit_.compute_invariant(roots_, reduced_set_);
      open_elements();
      writer_.store(false);
      emit_.close();
    }
    for (int loops = team_ == Team::block ? 2 : 3; loops > 0; --loops) emit_.close();
    writer_.finish();
  }

 private:
  std::int64_t lanes() const { return team_ == Team::block ? block_threads : team_ == Team::warp ? warp : warps; }

  // Binds the kept axes; row_ and lane_ say who a thread is within the block, row_mask_ whether its row exists.
  void open_rows() {
    ir::IndexTable& index = context_.index();
    std::vector<IndexId> extents = context_.extents(true, false);
    if (team_ == Team::block) {
      const std::vector<ValueId> digits = writer_.open_blocks(extents);
      for (std::size_t i = 0; i < kept_.size(); ++i) emit_.bind(kept_[i], {digits[i]});
      lane_ = writer_.open_threads(block_threads);
      row_ = emit_.number(0);
    } else if (team_ == Team::warp) {
      IndexId rows = index.number(1);
      for (const IndexId extent : extents) rows = index.mul(rows, extent);
      const ValueId block = writer_.open_blocks({index.ceil_div(rows, index.number(warps))})[0];
      row_ = writer_.open_threads(warps);
      lane_ = writer_.open_threads(warp);
      const ValueId row = emit_.add(emit_.mul(block, emit_.number(warps)), row_);
      row_mask_ = writer_.less(row, emit_.size_value(rows));
      const std::vector<ValueId> digits = emit_.digits(row, extents);
      for (std::size_t i = 0; i < kept_.size(); ++i) emit_.bind(kept_[i], {digits[i]});
      writer_.mask(lane_, row_mask_);
    } else {
      const IndexId columns = extents.back();
      extents.back() = index.ceil_div(columns, index.number(warp));
      const std::vector<ValueId> digits = writer_.open_blocks(extents);
      for (std::size_t i = 0; i + 1 < kept_.size(); ++i) emit_.bind(kept_[i], {digits[i]});
      const ValueId begin = emit_.mul(digits.back(), emit_.number(warp));
      lane_ = writer_.open_threads(warps);
      row_ = writer_.open_threads(warp);
      emit_.bind(kept_.back(), {begin, row_});
      row_mask_ = writer_.less(emit_.add(begin, row_), emit_.size_value(columns));
      writer_.mask(row_, row_mask_);
    }
  }

  // A loop over the thread's share of the row; binds the reduced axes. Returns where the element exists.
  ValueId open_elements(const std::function<void()>& carry = [] {}) {
    ir::IndexTable& index = context_.index();
    const std::vector<IndexId> extents = context_.extents(false, true);
    IndexId length = index.number(1);
    for (const IndexId extent : extents) length = index.mul(length, extent);
    const ValueId round = emit_.open(LoopKind::serial, emit_.size(index.ceil_div(length, index.number(lanes()))));
    carry();
    const ValueId begin = emit_.mul(round, emit_.number(lanes()));
    const ValueId position = emit_.add(begin, lane_);
    ValueId mask = writer_.less(position, emit_.size_value(length));
    if (row_mask_ != ir::no_value) mask = writer_.both(row_mask_, mask);
    writer_.mask(round, mask);
    if (reduced_.size() == 1) {
      emit_.bind(reduced_[0], {begin, lane_});
    } else {
      const std::vector<ValueId> digits = emit_.digits(position, extents);
      for (std::size_t i = 0; i < reduced_.size(); ++i) emit_.bind(reduced_[i], {digits[i]});
    }
    return mask;
  }

  // The reductions of one stage, side by side in one loop.
  void reduce(std::uint32_t stage) {
    ir::KernelBuilder& builder = writer_.builder();
    std::vector<std::size_t> members;
    std::vector<ExprId> operands;
    for (std::size_t r = 0; r < nest_.reductions.size(); ++r) {
      if (nest_.reductions[r].stage != stage) continue;
      members.push_back(r);
      operands.push_back(nest_.reductions[r].operand);
    }
    std::vector<ValueId> identities, inside;
    for (const std::size_t r : members)
      for (std::size_t i = 0; i < accumulators_[r].types.size(); ++i)
        identities.push_back(builder.constant(accumulators_[r].types[i], accumulators_[r].identities[i]));
    const ValueId mask = open_elements([&] {
      for (const ValueId identity : identities) inside.push_back(builder.carry(identity));
    });
    emit_.compute(operands);
    std::size_t carried = 0;
    for (const std::size_t r : members) {
      const Reduction& reduction = nest_.reductions[r];
      const ValueId position = accumulators_[r].types.size() > 1 ? emit_.affine_value(reduction.position) : ir::no_value;
      const std::vector<ValueId> element = element_tuple(accumulators_[r], emit_.wide_value(reduction.operand), position, builder);
      const std::vector<ValueId> before(inside.begin() + static_cast<std::ptrdiff_t>(carried),
                                        inside.begin() + static_cast<std::ptrdiff_t>(carried + element.size()));
      for (const ValueId next : ir::emit_combine(builder, combines_[r], before, element)) {
        builder.yield(carried, writer_.select(mask, next, inside[carried]));
        ++carried;
      }
    }
    const std::vector<ValueId> results = emit_.close();
    join(members, results);
  }

  // Lanes' tuples become the row's, known to every thread of it; defines what reads them.
  void join(const std::vector<std::size_t>& members, const std::vector<ValueId>& carried) {
    ir::KernelBuilder& builder = writer_.builder();
    std::vector<std::vector<ValueId>> tuples;
    auto next = carried.begin();
    for (const std::size_t r : members) {
      const auto size = static_cast<std::ptrdiff_t>(accumulators_[r].types.size());
      tuples.emplace_back(next, next + size);
      next += size;
    }
    if (team_ != Team::column)
      for (std::size_t m = 0; m < members.size(); ++m)
        for (std::int32_t delta = warp / 2; delta > 0; delta /= 2)
          tuples[m] = ir::emit_combine(builder, combines_[members[m]], tuples[m], shuffled(tuples[m], delta));
    std::vector<std::vector<std::uint32_t>> arrays;
    used_.clear();
    for (std::size_t m = 0; m < members.size(); ++m) {
      arrays.emplace_back();
      for (const ValueId value : tuples[m]) {
        arrays[m].push_back(shared(builder.type(value)));
        put(arrays[m].back(), value);
      }
    }
    builder.barrier();
    for (std::size_t m = 0; m < members.size(); ++m) {
      std::vector<ValueId> joined = taken(arrays[m], 0);
      for (std::int64_t piece = 1; team_ != Team::warp && piece < warps; ++piece)
        joined = ir::emit_combine(builder, combines_[members[m]], joined, taken(arrays[m], piece));
      define(members[m], joined);
    }
    builder.barrier();  // the arrays serve the next stage too
  }

  std::vector<ValueId> shuffled(const std::vector<ValueId>& tuple, std::int32_t delta) {
    std::vector<ValueId> result;
    for (const ValueId value : tuple) result.push_back(writer_.builder().shuffle(value, delta));
    return result;
  }

  // An array of shared memory that this stage does not use yet.
  std::uint32_t shared(DType type) {
    for (const auto& [array, array_type] : arrays_)
      if (array_type == type && std::find(used_.begin(), used_.end(), array) == used_.end()) {
        used_.push_back(array);
        return array;
      }
    const std::uint32_t array =
        writer_.builder().scratch(type, ir::Space::shared, Size::of(team_ == Team::column ? block_threads : warps));
    arrays_.emplace_back(array, type);
    used_.push_back(array);
    return array;
  }

  void put(std::uint32_t array, ValueId value) {
    ir::KernelBuilder& builder = writer_.builder();
    if (team_ == Team::column) {
      builder.store({array, {{lane_, Size::of(warp)}, {row_, Size::of(1)}}, {}}, value);
    } else if (team_ == Team::warp) {
      builder.store({array, {{row_, Size::of(1)}}, {}}, value, writer_.is_zero(lane_));
    } else {
      builder.store({array, {{emit_.quo(lane_, emit_.number(warp)), Size::of(1)}}, {}}, value,
                    writer_.is_zero(emit_.rem(lane_, emit_.number(warp))));
    }
  }

  std::vector<ValueId> taken(const std::vector<std::uint32_t>& arrays, std::int64_t piece) {
    std::vector<ValueId> tuple;
    for (const std::uint32_t array : arrays) {
      ir::Access access{array, {}, Size::of(piece)};
      if (team_ == Team::column) access = {array, {{row_, Size::of(1)}}, Size::of(piece * warp)};
      if (team_ == Team::warp) access = {array, {{row_, Size::of(1)}}, {}};
      tuple.push_back(writer_.builder().load(access));
    }
    return tuple;
  }

  void define(std::size_t reduction, const std::vector<ValueId>& tuple) {
    for (std::size_t e = 0; e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      if (expr.kind == Expr::Kind::reduced && expr.number == reduction)
        emit_.define(static_cast<ExprId>(e),
                     reduction_result(accumulators_[reduction], expr.result, expr.type, tuple, writer_.builder()));
    }
  }

  const Context& context_;
  const Nest& nest_;
  const Team team_;
  Writer writer_;
  NestEmitter& emit_;
  std::vector<Variable> kept_, reduced_;
  AxisSet reduced_set_ = 0;
  std::vector<ExprId> roots_;
  std::vector<Accumulator> accumulators_;  // by reduction
  std::vector<std::uint32_t> combines_;
  ValueId lane_ = ir::no_value, row_ = ir::no_value, row_mask_ = ir::no_value;
  std::vector<std::pair<std::uint32_t, DType>> arrays_;
  std::vector<std::uint32_t> used_;
};

}  // namespace

void schedule_rows(const Context& context) { Rows(context).run(); }

}  // namespace braze::passes::gpu
