// Nests that reduce, on the GPU. The threads of a row take its elements in turn, once for every stage and once more for what is stored an
// element; after each stage they join what they hold, so that every thread knows the row's values.
//
// Who works on a row
//  * 256 threads, a block: rows that are contiguous and long, or of unknown length.
//  * 32 threads, a warp, eight of them a block: contiguous rows of at most 1024 elements.
//  * 8 threads that lie 32 apart: where another axis is the contiguous one, so that a warp reads 32 neighbouring columns.
//  * Many blocks: the only row there is. Each reduces a share of 16384 elements, and a second kernel's one block what they leave.
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

constexpr std::int64_t warp = 32, warps = block_threads / warp, warp_row = 1024, share = 64 * block_threads;

enum class Team { block, warp, column };

Team team_of(const Context& context) {
  const ir::IndexTable& index = context.index();
  const bool has_rows = !context.extents(true, false).empty();
  if (context.nest.order == ReduceOrder::outer && has_rows) return Team::column;
  for (const IndexId extent : context.extents(false, true))
    if (index[extent].op != ir::IndexOp::number || index[extent].number > warp_row) return Team::block;
  return has_rows ? Team::warp : Team::block;
}

IndexId product(ir::IndexTable& index, const std::vector<IndexId>& extents) {
  IndexId result = index.number(1);
  for (const IndexId extent : extents) result = index.mul(result, extent);
  return result;
}

class Rows {
 public:
  explicit Rows(const Context& context, const std::string& suffix = "")
      : context_(context),
        nest_(context.nest),
        index_(context.index()),
        team_(team_of(context)),
        writer_(context, suffix),
        emit_(writer_.emit()),
        length_(product(index_, context.extents(false, true))) {
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis) {
      (nest_.axes[axis].reduced ? reduced_ : kept_).push_back(static_cast<Variable>(axis));
      if (nest_.axes[axis].reduced) reduced_set_ |= AxisSet{1} << std::min<std::size_t>(axis, 63);
    }
    for (const Output& output : nest_.outputs) {
      roots_.push_back(output.expr);
      has_elements_ = has_elements_ || !output.row;
    }
    for (const Reduction& reduction : nest_.reductions) {
      roots_.push_back(reduction.operand);
      stages_ = std::max(stages_, reduction.stage);
      accumulators_.push_back(accumulator(reduction.op, nest_.exprs[reduction.operand].type));
      combines_.push_back(writer_.builder().combine(accumulators_.back().combine));
    }
  }

  // The whole nest in one kernel.
  void run() {
    writer_.take(true);
    writer_.take(false);
    open_rows();
    for (std::uint32_t stage = 1; stage <= stages_; ++stage) {
      emit_.compute_invariant(roots_, reduced_set_);
      const std::vector<std::size_t> members = members_of(stage);
      define(members, join(members, reduce(members, false)));
    }
    writer_.store(true, writer_.is_zero(lane_));
    if (has_elements_) {
      emit_.compute_invariant(roots_, reduced_set_);
      open_elements(length_);
      bind_element();
      writer_.store(false);
      emit_.close();
    }
    for (int loops = team_ == Team::block ? 2 : 3; loops > 0; --loops) emit_.close();
    writer_.finish();
  }

  // Whether the nest is one long row that a single pass reduces, so that its shares are independent.
  bool is_one_row() const {
    const bool is_short = index_[length_].op == ir::IndexOp::number && index_[length_].number <= share;
    return team_ == Team::block && !is_short && stages_ == 1 && !has_elements_ &&
           product(index_, context_.extents(true, false)) == index_.number(1);
  }

  // The first kernel of one row: leaves a tuple a block in `partials`, which it makes.
  void run_shares(std::vector<ir::Value>& partials) {
    const IndexId blocks = shares();
    std::vector<std::uint32_t> buffers;
    for (const Accumulator& accumulator : accumulators_)
      for (const DType type : accumulator.types) {
        context_.module.temporaries.push_back({type, blocks});
        partials.push_back({temporary_base + static_cast<ir::NodeId>(context_.module.temporaries.size() - 1), 0});
        buffers.push_back(emit_.temporary(partials.back(), type, true));
      }
    const ValueId block = writer_.open_blocks({blocks})[0];
    share_begin_ = emit_.mul(block, emit_.number(share));
    for (const Variable axis : kept_) emit_.bind(axis, {emit_.number(0)});
    lane_ = writer_.open_threads(block_threads);
    emit_.compute_invariant(roots_, reduced_set_);
    const std::vector<std::size_t> members = members_of(1);
    auto buffer = buffers.begin();
    for (const std::vector<ValueId>& tuple : join(members, reduce(members, false)))
      for (const ValueId value : tuple)
        writer_.builder().store({*buffer++, {{block, Size::of(1)}}, {}}, value, writer_.is_zero(lane_));
    emit_.close();
    emit_.close();
    writer_.finish();
  }

  // The second: one block.
  void run_partials(const std::vector<ir::Value>& partials) {
    writer_.take(true);
    auto partial = partials.begin();
    for (const Accumulator& accumulator : accumulators_)
      for (const DType type : accumulator.types) partial_buffers_.push_back(emit_.temporary(*partial++, type, false));
    writer_.open_blocks({});
    for (const Variable axis : kept_) emit_.bind(axis, {emit_.number(0)});
    lane_ = writer_.open_threads(block_threads);
    const std::vector<std::size_t> members = members_of(1);
    define(members, join(members, reduce(members, true)));
    writer_.store(true, writer_.is_zero(lane_));
    emit_.close();
    emit_.close();
    writer_.finish();
  }

 private:
  using Tuples = std::vector<std::vector<ValueId>>;  // one a member

  IndexId shares() { return index_.max(index_.ceil_div(length_, index_.number(share)), index_.number(1)); }

  std::vector<std::size_t> members_of(std::uint32_t stage) const {
    std::vector<std::size_t> members;
    for (std::size_t r = 0; r < nest_.reductions.size(); ++r)
      if (nest_.reductions[r].stage == stage) members.push_back(r);
    return members;
  }

  std::int64_t lanes() const { return team_ == Team::block ? block_threads : team_ == Team::warp ? warp : warps; }

  // Binds the kept axes; row_ and lane_ say who a thread is within the block, row_mask_ whether its row exists.
  void open_rows() {
    std::vector<IndexId> extents = context_.extents(true, false);
    if (team_ == Team::block) {
      const std::vector<ValueId> digits = writer_.open_blocks(extents);
      for (std::size_t i = 0; i < kept_.size(); ++i) emit_.bind(kept_[i], {digits[i]});
      lane_ = writer_.open_threads(block_threads);
      row_ = emit_.number(0);
    } else if (team_ == Team::warp) {
      const IndexId rows = product(index_, extents);
      const ValueId block = writer_.open_blocks({index_.ceil_div(rows, index_.number(warps))})[0];
      row_ = writer_.open_threads(warps);
      lane_ = writer_.open_threads(warp);
      const ValueId row = emit_.add(emit_.mul(block, emit_.number(warps)), row_);
      row_mask_ = writer_.less(row, emit_.size_value(rows));
      const std::vector<ValueId> digits = emit_.digits(row, extents);
      for (std::size_t i = 0; i < kept_.size(); ++i) emit_.bind(kept_[i], {digits[i]});
      writer_.mask(lane_, row_mask_);
    } else {
      const IndexId columns = extents.back();
      extents.back() = index_.ceil_div(columns, index_.number(warp));
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

  // A loop over the thread's elements of the `length` that there are. Returns where the element exists.
  ValueId open_elements(IndexId length, const std::function<void()>& carry = [] {}) {
    const bool is_share = share_begin_ != ir::no_value;
    const IndexId rounds = is_share ? index_.number(share / block_threads) : index_.ceil_div(length, index_.number(lanes()));
    const ValueId round = emit_.open(LoopKind::serial, emit_.size(rounds));
    carry();
    const ValueId turn = emit_.mul(round, emit_.number(lanes()));
    begin_ = is_share ? emit_.add(share_begin_, turn) : turn;
    position_ = emit_.add(begin_, lane_);
    ValueId mask = writer_.less(position_, emit_.size_value(length));
    if (row_mask_ != ir::no_value) mask = writer_.both(row_mask_, mask);
    writer_.mask(round, mask);
    return mask;
  }

  // The reduced axes at the element.
  void bind_element() {
    if (reduced_.size() == 1) {
      emit_.bind(reduced_[0], {begin_, lane_});
    } else {
      const std::vector<ValueId> digits = emit_.digits(position_, context_.extents(false, true));
      for (std::size_t i = 0; i < reduced_.size(); ++i) emit_.bind(reduced_[i], {digits[i]});
    }
  }

  // Reductions side by side in one loop over elements, or over the partial results of blocks; what each thread holds then.
  Tuples reduce(const std::vector<std::size_t>& members, bool partial) {
    ir::KernelBuilder& builder = writer_.builder();
    std::vector<ValueId> inside;
    std::vector<ValueId> identities;
    for (const std::size_t r : members)
      for (std::size_t i = 0; i < accumulators_[r].types.size(); ++i)
        identities.push_back(builder.constant(accumulators_[r].types[i], accumulators_[r].identities[i]));
    const ValueId mask = open_elements(partial ? shares() : length_, [&] {
      for (const ValueId identity : identities) inside.push_back(builder.carry(identity));
    });
    const std::vector<ValueId> elements = partial ? partial_elements() : row_elements(members);
    std::size_t carried = 0;
    for (const std::size_t r : members) {
      const auto from = static_cast<std::ptrdiff_t>(carried),
                 to = from + static_cast<std::ptrdiff_t>(accumulators_[r].types.size());
      const std::vector<ValueId> before(inside.begin() + from, inside.begin() + to),
          element(elements.begin() + from, elements.begin() + to);
      for (const ValueId next : ir::emit_combine(builder, combines_[r], before, element)) {
        builder.yield(carried, writer_.select(mask, next, inside[carried]));
        ++carried;
      }
    }
    const std::vector<ValueId> results = emit_.close();
    Tuples tuples;
    auto next = results.begin();
    for (const std::size_t r : members) {
      const auto size = static_cast<std::ptrdiff_t>(accumulators_[r].types.size());
      tuples.emplace_back(next, next + size);
      next += size;
    }
    return tuples;
  }

  std::vector<ValueId> row_elements(const std::vector<std::size_t>& members) {
    std::vector<ExprId> operands;
    for (const std::size_t r : members) operands.push_back(nest_.reductions[r].operand);
    bind_element();
    emit_.compute(operands);
    std::vector<ValueId> elements;
    for (const std::size_t r : members) {
      const Reduction& reduction = nest_.reductions[r];
      const ValueId position = accumulators_[r].types.size() > 1 ? emit_.affine_value(reduction.position) : ir::no_value;
      for (const ValueId value : element_tuple(accumulators_[r], emit_.wide_value(reduction.operand), position, writer_.builder()))
        elements.push_back(value);
    }
    return elements;
  }

  std::vector<ValueId> partial_elements() {
    std::vector<ValueId> elements;
    for (const std::uint32_t buffer : partial_buffers_)
      elements.push_back(writer_.builder().load({buffer, {{position_, Size::of(1)}}, {}}));
    return elements;
  }

  // Lanes' tuples become the row's, known to every thread of it.
  Tuples join(const std::vector<std::size_t>& members, Tuples tuples) {
    ir::KernelBuilder& builder = writer_.builder();
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
      tuples[m] = taken(arrays[m], 0);
      for (std::int64_t piece = 1; team_ != Team::warp && piece < warps; ++piece)
        tuples[m] = ir::emit_combine(builder, combines_[members[m]], tuples[m], taken(arrays[m], piece));
    }
    builder.barrier();  // the arrays serve the next stage too
    return tuples;
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

  // Gives what reads the reductions its value.
  void define(const std::vector<std::size_t>& members, const Tuples& tuples) {
    for (std::size_t e = 0; e < nest_.exprs.size(); ++e) {
      const Expr& expr = nest_.exprs[e];
      if (expr.kind != Expr::Kind::reduced) continue;
      const auto at = std::find(members.begin(), members.end(), expr.number);
      if (at == members.end()) continue;
      const auto m = static_cast<std::size_t>(at - members.begin());
      emit_.define(static_cast<ExprId>(e),
                   reduction_result(accumulators_[expr.number], expr.result, expr.type, tuples[m], writer_.builder()));
    }
  }

  const Context& context_;
  const Nest& nest_;
  ir::IndexTable& index_;
  const Team team_;
  Writer writer_;
  NestEmitter& emit_;
  const IndexId length_;  // of a row
  std::vector<Variable> kept_, reduced_;
  AxisSet reduced_set_ = 0;
  std::vector<ExprId> roots_;
  bool has_elements_ = false;  // outputs of elements
  std::uint32_t stages_ = 0;
  std::vector<Accumulator> accumulators_;  // by reduction
  std::vector<std::uint32_t> combines_;
  // A thread's place: its lane of the row, its row in the block, whether that exists, where the block's share of one row begins.
  ValueId lane_ = ir::no_value, row_ = ir::no_value, row_mask_ = ir::no_value, share_begin_ = ir::no_value;
  ValueId begin_ = ir::no_value, position_ = ir::no_value;  // of lane 0's element, and of the thread's own
  std::vector<std::uint32_t> partial_buffers_;
  std::vector<std::pair<std::uint32_t, DType>> arrays_;  // shared memory
  std::vector<std::uint32_t> used_;
};

}  // namespace

void schedule_rows(const Context& context) {
  if (!Rows(context).is_one_row()) return Rows(context).run();
  std::vector<ir::Value> partials;
  Rows(context, "_shares").run_shares(partials);
  Rows(context).run_partials(partials);
}

}  // namespace braze::passes::gpu
