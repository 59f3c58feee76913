// Elementwise nests, and which schedule a nest gets.
//
// One axis: one parallel vector loop. Several: parallel over rows and pieces of a row, so that few long rows and many short ones both
// spread over the cores, with a vector loop along the last axis inside.
#include "passes/schedule_cpu.h"

#include <algorithm>

#include "ir/error.h"

namespace braze::passes {

using ir::IndexId;
using ir::LoopKind;
using ir::Size;
using ir::ValueId;

namespace cpu {

Lowered Context::start(const std::string& suffix) const {
  Lowered lowered;
  lowered.group = nest.group;
  lowered.loops.name = nest.name + suffix;
  return lowered;
}

void Context::finish(Lowered lowered, IndexId extent, IndexId work) const {
  lowered.extent = extent;
  lowered.work = work;
  module.kernels.push_back(std::move(lowered));
}

std::int32_t lanes(const Context& context) {
  int widest = 1;
  for (const Expr& expr : context.nest.exprs) widest = std::max(widest, size_of(compute_type(expr.type)));
  return std::clamp(2 * context.target.vector_bytes / widest, 4, 64);
}

IndexId elements(const Context& context, bool reduced_too) {
  ir::IndexTable& index = context.index();
  IndexId product = index.number(1);
  for (const NestAxis& axis : context.nest.axes)
    if (reduced_too || !axis.reduced) product = index.mul(product, axis.extent);
  return product;
}

namespace {

// How many elements of the last axis a step of the parallel loop takes.
constexpr std::int64_t piece = 4096;

void store_all(NestEmitter& emit) {
  std::vector<ExprId> roots;
  for (const Output& output : emit.nest().outputs) roots.push_back(output.expr);
  emit.compute(roots);
  for (const Output& output : emit.nest().outputs) emit.store(output);
}

}  // namespace

void schedule_elementwise(const Context& context) {
  const Nest& nest = context.nest;
  ir::IndexTable& index = context.index();
  Lowered lowered = context.start();
  NestEmitter emit(nest, context.module.graph, index, lowered);
  for (const Output& output : nest.outputs) emit.buffer(output.buffer);
  const IndexId work = elements(context);
  const auto rank = static_cast<Variable>(nest.axes.size());
  IndexId extent = index.number(1);
  if (rank == 0) {
    emit.open(LoopKind::parallel, Size::of(1));
    store_all(emit);
    emit.close();
  } else if (rank == 1) {
    extent = nest.axes[0].extent;
    emit.bind(0, {emit.open(LoopKind::parallel, emit.size(extent), lanes(context))});
    store_all(emit);
    emit.close();
  } else {
    const Variable inner = rank - 1;
    std::vector<IndexId> outer;
    for (Variable axis = 0; axis < inner; ++axis) outer.push_back(nest.axes[axis].extent);
    outer.push_back(index.ceil_div(nest.axes[inner].extent, index.number(piece)));
    for (const IndexId e : outer) extent = index.mul(extent, e);
    const std::vector<ValueId> digits = emit.digits(emit.open(LoopKind::parallel, emit.size(extent)), outer);
    for (Variable axis = 0; axis < inner; ++axis) emit.bind(axis, {digits[axis]});
    const ValueId begin = emit.mul(digits.back(), emit.number(piece));
    const ValueId count = emit.min(emit.sub(emit.size_value(nest.axes[inner].extent), begin), emit.number(piece));
    std::vector<ExprId> roots;
    for (const Output& output : nest.outputs) roots.push_back(output.expr);
    emit.compute_invariant(roots, AxisSet{1} << std::min<Variable>(inner, 63));
    const ValueId lane = emit.open(LoopKind::serial, Size::of_value(count), lanes(context));
    emit.bind(inner, {begin, lane});
    store_all(emit);
    emit.close();
    emit.close();
  }
  context.finish(std::move(lowered), extent, work);
}

}  // namespace cpu

Module schedule_cpu(Module module, const Options& options) {
  const auto& target = std::get<ir::CpuTarget>(options.target);
  for (const auto& nest : module.nests) {
    const cpu::Context context{module, target, *nest};
    invariant(nest->reductions.empty() && nest->contractions.empty(), "group {} has no schedule", nest->name);
    cpu::schedule_elementwise(context);
  }
  return module;
}

}  // namespace braze::passes
