// accumulate: elements are added to the places of a layout, in index order where places repeat.
//
// Repeats come from axes whose strides overlap, as those of windows do. An outer axis whose stride is beyond all that the axes inside it
// reach repeats nothing: its iterations are apart, and run in parallel; strides are symbols, so that this is found out at run time. Along the
// last axis places differ where its stride is a number: it is a vector loop. Each place still takes its elements in index order.
#include <algorithm>

#include "passes/schedule_cpu.h"

namespace braze::passes::cpu {

using ir::IndexId;
using ir::LoopKind;
using ir::Size;
using ir::ValueId;

namespace {

constexpr std::size_t most_parallel = 2;  // axes

class Accumulate {
 public:
  explicit Accumulate(const Context& context) : context_(context), nest_(context.nest), index_(context.index()) {}

  void run() {
    Lowered lowered = context_.start();
    NestEmitter emit(nest_, context_.module.graph, index_, lowered);
    take_outputs(emit, false);
    const std::vector<IndexId> parallel = parallel_extents();
    const IndexId extent = context_.product(parallel);
    const std::vector<ValueId> digits = emit.digits(emit.open(LoopKind::parallel, emit.size(extent)), parallel);
    const auto last = static_cast<Variable>(nest_.axes.size() - 1);
    for (Variable axis = 0; axis < nest_.axes.size(); ++axis) {
      const std::int32_t step = axis == last && is_apart_along(axis) ? lanes(context_) : 1;
      const IndexId whole = nest_.axes[axis].extent;
      if (axis >= parallel.size()) {
        emit.bind(axis, {emit.open(LoopKind::serial, emit.size(whole), step)});
        continue;
      }
      // All iterations of one that is not parallel, one of one that is.
      const IndexId share = index_.ceil_div(whole, parallel[axis]);
      const ValueId begin = emit.mul(digits[axis], emit.size_value(share));
      emit.bind(axis, {begin, emit.open(LoopKind::serial, emit.size(share), step)});
    }
    store_outputs(emit, false);
    for (std::size_t loops = nest_.axes.size() + 1; loops > 0; --loops) emit.close();
    context_.finish(std::move(lowered), extent, context_.elements());
  }

 private:
  IndexId magnitude(IndexId id) const { return index_.max(id, index_.mul(id, index_.number(-1))); }

  // The outputs' strides along an axis; none where one is not affine in the axes themselves.
  std::vector<IndexId> strides(Variable axis) const {
    std::vector<IndexId> result;
    for (const Output& output : nest_.outputs)
      for (const Affine::Term& term : nest_.affines[output.address].terms) {
        if (term.variable >= derived_base) return {};
        if (term.variable == axis) result.push_back(term.coefficient);
      }
    if (result.size() != nest_.outputs.size()) return {};
    return result;
  }

  bool is_apart_along(Variable axis) const {
    const std::vector<IndexId> along = strides(axis);
    return !along.empty() && std::all_of(along.begin(), along.end(), [&](IndexId stride) {
      return index_[stride].op == ir::IndexOp::number && index_[stride].number != 0;
    });
  }

  // How many elements an output's axes from `first` on reach over.
  IndexId reach(const Output& output, Variable first) const {
    IndexId result = index_.number(1);
    for (const Affine::Term& term : nest_.affines[output.address].terms)
      if (term.variable >= first)
        result = index_.add(
            result, index_.mul(index_.sub(nest_.axes[term.variable].extent, index_.number(1)), magnitude(term.coefficient)));
    return index_.max(result, index_.number(1));
  }

  // The first axes' extents where they repeat no place, and 1 where they may.
  std::vector<IndexId> parallel_extents() const {
    std::vector<IndexId> result;
    const IndexId one = index_.number(1);
    IndexId apart = one;  // or 0
    for (Variable axis = 0; axis + 1 < nest_.axes.size() && axis < most_parallel; ++axis) {
      const std::vector<IndexId> along = strides(axis);
      if (along.empty()) break;
      for (std::size_t i = 0; i < along.size(); ++i)
        apart = index_.mul(apart, index_.min(index_.floor_div(magnitude(along[i]), reach(nest_.outputs[i], axis + 1)), one));
      const IndexId more = index_.sub(index_.max(nest_.axes[axis].extent, one), one);
      result.push_back(index_.add(one, index_.mul(more, apart)));
    }
    if (result.empty()) result.push_back(one);
    return result;
  }

  const Context& context_;
  const Nest& nest_;
  ir::IndexTable& index_;
};

}  // namespace

void schedule_accumulate(const Context& context) { Accumulate(context).run(); }

}  // namespace braze::passes::cpu
