// Elementwise nests on the GPU, what all GPU kernels share, and which schedule a nest gets.
//
// A thread takes one element. Long rows are cut into pieces of a block's threads, so that row and axes come from the block's number
// alone; short rows of known length are taken together as one axis, and each thread divides.
#include "passes/schedule_gpu.h"

#include <algorithm>

#include "ir/error.h"

namespace braze::passes {

using ir::IndexId;
using ir::LoopKind;
using ir::Primitive;
using ir::ValueId;

namespace gpu {

IndexId Context::elements() const {
  IndexId product = index().number(1);
  for (const NestAxis& axis : nest.axes) product = index().mul(product, axis.extent);
  return product;
}

std::vector<IndexId> Context::extents(bool kept, bool reduced) const {
  std::vector<IndexId> result;
  for (const NestAxis& axis : nest.axes)
    if (axis.reduced ? reduced : kept) result.push_back(axis.extent);
  return result;
}

namespace {

// Puts masks on what was emitted without them.
class Masking {
 public:
  Masking(ir::Kernel& kernel, const std::unordered_map<ValueId, ValueId>& masks) : kernel_(kernel), masks_(masks) {}

  void block(ir::Block& statements, ValueId mask) {
    ir::Block masked;
    std::unordered_map<ValueId, ValueId> known;  // a condition and the mask
    const auto with_mask = [&](ValueId condition) {
      if (mask == ir::no_value) return condition;
      if (condition == ir::no_value || condition == mask) return mask;
      const auto [at, fresh] = known.emplace(condition, ir::no_value);
      if (fresh) {
        at->second = kernel_.new_value(DType::boolean);
        masked.push_back({ir::Compute{
            at->second, ir::canonical({.op = Primitive::bit_and, .type = DType::boolean, .in = {mask, condition, ir::no_value}})}});
      }
      return at->second;
    };
    for (ir::Statement& statement : statements) {
      std::visit(ir::match{[&](ir::Compute& s) {
                             if (s.instruction.op == Primitive::check) s.instruction.in[0] = with_mask(s.instruction.in[0]);
                           },
                           [&](ir::Load& s) {
                             if (s.access.buffer < ir::scratch_base) s.predicate = with_mask(s.predicate);
                           },
                           [&](ir::Store& s) {
                             if (s.access.buffer < ir::scratch_base) s.predicate = with_mask(s.predicate);
                           },
                           [&](ir::For& s) {
                             const auto own = masks_.find(s.variable);
                             block(s.body, own == masks_.end() ? mask : own->second);
                           },
                           [&](ir::If& s) { block(s.body, mask); }, [](auto&) {}},
                 statement.node);
      masked.push_back(std::move(statement));
    }
    statements = std::move(masked);
  }

 private:
  ir::Kernel& kernel_;
  const std::unordered_map<ValueId, ValueId>& masks_;
};

Lowered started(const Context& context, const std::string& suffix) {
  Lowered lowered;
  lowered.group = context.nest.group;
  lowered.loops.name = context.nest.name + suffix;
  return lowered;
}

}  // namespace

Writer::Writer(const Context& context, const std::string& suffix)
    : context_(context), lowered_(started(context, suffix)), emit_(context.nest, context.module.graph, context.index(), lowered_) {}

void Writer::take(bool rows) {
  for (const Output& output : context_.nest.outputs)
    if (output.row == rows) emit_.buffer(output.buffer);
}

std::vector<ValueId> Writer::open_blocks(const std::vector<IndexId>& extents) {
  ir::IndexTable& index = context_.index();
  extent_ = index.number(1);
  std::vector<IndexId> several;
  for (const IndexId extent : extents) {
    extent_ = index.mul(extent_, extent);
    if (!index.is_number(extent, 1)) several.push_back(extent);
  }
  const ValueId block = emit_.open(LoopKind::block, emit_.size(extent_));
  const std::vector<ValueId> digits = emit_.digits(block, several);
  std::vector<ValueId> result;
  auto next = digits.begin();
  for (const IndexId extent : extents) result.push_back(index.is_number(extent, 1) ? emit_.number(0) : *next++);
  return result;
}

void Writer::finish() {
  Masking(lowered_.loops, masks_).block(lowered_.loops.body, ir::no_value);
  lowered_.extent = extent_;
  lowered_.work = context_.elements();
  context_.module.kernels.push_back(std::move(lowered_));
}

ValueId Writer::less(ValueId a, ValueId b) {
  return builder().append({.op = Primitive::lt, .type = DType::boolean, .from = DType::i64, .in = {a, b, ir::no_value}});
}

ValueId Writer::both(ValueId a, ValueId b) {
  return builder().append({.op = Primitive::bit_and, .type = DType::boolean, .in = {a, b, ir::no_value}});
}

ValueId Writer::is_zero(ValueId a) {
  return builder().append(
      {.op = Primitive::eq, .type = DType::boolean, .from = DType::i64, .in = {a, emit_.number(0), ir::no_value}});
}

ValueId Writer::select(ValueId condition, ValueId a, ValueId b) {
  return builder().append({.op = Primitive::select, .type = builder().type(a), .in = {condition, a, b}});
}

void Writer::store(bool rows, ValueId predicate) {
  std::vector<ExprId> roots;
  for (const Output& output : context_.nest.outputs)
    if (output.row == rows) roots.push_back(output.expr);
  emit_.compute(roots);
  for (const Output& output : context_.nest.outputs)
    if (output.row == rows) emit_.store(output, predicate);
}

namespace {

// Rows shorter than this waste threads.
constexpr std::int64_t short_row = 128;

bool is_short(const ir::IndexTable& index, IndexId extent) {
  return index[extent].op == ir::IndexOp::number && index[extent].number < short_row;
}

// One block of one thread: what must happen in order.
void schedule_serial(const Context& context) {
  Writer writer(context);
  writer.take(false);
  NestEmitter& emit = writer.emit();
  writer.open_blocks({});
  writer.open_threads(1);
  for (Variable axis = 0; axis < context.nest.axes.size(); ++axis)
    emit.bind(axis, {emit.open(LoopKind::serial, emit.size(context.nest.axes[axis].extent))});
  writer.store(false);
  for (std::size_t axis = 0; axis < context.nest.axes.size() + 2; ++axis) emit.close();
  writer.finish();
}

// All axes as one.
void schedule_flat(const Context& context) {
  Writer writer(context);
  writer.take(false);
  NestEmitter& emit = writer.emit();
  const IndexId total = context.elements();
  const ValueId block = writer.open_blocks({context.index().ceil_div(total, context.index().number(block_threads))})[0];
  const ValueId begin = emit.mul(block, emit.number(block_threads));
  const ValueId thread = writer.open_threads(block_threads);
  const ValueId position = emit.add(begin, thread);
  writer.mask(thread, writer.less(position, emit.size_value(total)));
  const std::vector<IndexId> extents = context.extents(true, true);
  if (extents.size() == 1) {
    emit.bind(0, {begin, thread});
  } else {
    const std::vector<ValueId> digits = emit.digits(position, extents);
    for (Variable axis = 0; axis < digits.size(); ++axis) emit.bind(axis, {digits[axis]});
  }
  writer.store(false);
  emit.close();
  emit.close();
  writer.finish();
}

// Blocks over rows and pieces of a row.
void schedule_pieces(const Context& context) {
  Writer writer(context);
  writer.take(false);
  NestEmitter& emit = writer.emit();
  const auto inner = static_cast<Variable>(context.nest.axes.size() - 1);
  const IndexId length = context.nest.axes[inner].extent;
  std::vector<IndexId> extents = context.extents(true, true);
  extents.back() = context.index().ceil_div(length, context.index().number(block_threads));
  const std::vector<ValueId> digits = writer.open_blocks(extents);
  for (Variable axis = 0; axis < inner; ++axis) emit.bind(axis, {digits[axis]});
  const ValueId begin = emit.mul(digits.back(), emit.number(block_threads));
  std::vector<ExprId> roots;
  for (const Output& output : context.nest.outputs) roots.push_back(output.expr);
  emit.compute_invariant(roots, AxisSet{1} << std::min<Variable>(inner, 63));
  const ValueId thread = writer.open_threads(block_threads);
  emit.bind(inner, {begin, thread});
  writer.mask(thread, writer.less(emit.add(begin, thread), emit.size_value(length)));
  writer.store(false);
  emit.close();
  emit.close();
  writer.finish();
}

}  // namespace

void schedule_elementwise(const Context& context) {
  const auto& axes = context.nest.axes;
  const bool ordered =
      std::any_of(context.nest.outputs.begin(), context.nest.outputs.end(), [](const Output& o) { return o.accumulate; });
  if (axes.empty() || ordered) return schedule_serial(context);
  if (axes.size() == 1 || is_short(context.index(), axes.back().extent)) return schedule_flat(context);
  schedule_pieces(context);
}

}  // namespace gpu

Module schedule_gpu(Module module, const Options& options) {
  const auto& target = std::get<ir::CudaTarget>(options.target);
  for (const auto& nest : module.nests) {
    if (nest->routine) {
      const ir::Node& node = module.graph[*nest->routine];
      fail<DeviceError>("{} runs on the CPU alone, and this graph is compiled for a GPU; move its operands to the CPU first",
                        ir::name(node.op));
    }
    const gpu::Context context{module, target, *nest};
    if (!nest->contractions.empty())
      gpu::schedule_contraction(context);
    else if (!nest->reductions.empty())
      gpu::schedule_rows(context);
    else
      gpu::schedule_elementwise(context);
  }
  return module;
}

}  // namespace braze::passes
