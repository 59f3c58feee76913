#include "runtime/run.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "ir/error.h"
#include "ir/infer.h"
#include "ir/target.h"
#include "runtime/index_program.h"
#include "runtime/launch.h"
#include "runtime/routines.h"
#include "runtime/threads.h"

namespace braze::runtime {

using ir::CallStep, ir::CopyStep, ir::Fault, ir::KernelStep, ir::Slot, ir::Step;

namespace {

// What a run needs besides memory for elements; grows to the largest Program that its thread runs.
struct Workspace {
  std::vector<std::int64_t> values;  // of index expressions
  std::vector<void*> data;           // a slot
  // The arguments of the step that runs:
  std::vector<void*> buffers;
  std::vector<std::int64_t> sizes, elements;
  std::vector<std::uint64_t> scalars;
  std::vector<RoutineArray> arrays;

  template <class T>
  static T* room(std::vector<T>& vector, std::size_t count) {
    if (vector.size() < count) vector.resize(count);
    return vector.data();
  }
};

// Lends out this thread's workspace; a run inside a run, or one after the thread's objects were destroyed, gets its own.
class WorkspaceLease {
 public:
  WorkspaceLease() : workspace_(std::exchange(idle, nullptr)) {
    if (workspace_) return;
    [[maybe_unused]] static thread_local const AtThreadEnd at_thread_end;
    workspace_ = new Workspace;
  }
  ~WorkspaceLease() {
    if (idle || thread_ended)
      delete workspace_;
    else
      idle = workspace_;
  }
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;
  Workspace& operator*() const { return *workspace_; }

 private:
  struct AtThreadEnd {
    AtThreadEnd() = default;
    ~AtThreadEnd() {
      delete std::exchange(idle, nullptr);
      thread_ended = true;
    }
  };
  static constinit thread_local Workspace* idle;
  static constinit thread_local bool thread_ended;

  Workspace* workspace_;
};
constinit thread_local Workspace* WorkspaceLease::idle = nullptr;
constinit thread_local bool WorkspaceLease::thread_ended = false;

std::vector<std::int32_t> steps_of_phases(const ir::Kernel& kernel) {
  std::vector<std::int32_t> steps;
  for (const ir::Statement& statement : kernel.body)
    if (const auto* loop = std::get_if<ir::For>(&statement.node); loop && loop->kind == ir::LoopKind::parallel)
      steps.push_back(loop->step);
  return steps;
}

// Consecutive entries of State::table.
struct Entries {
  std::uint32_t begin = 0, count = 0;
};

struct PlannedPhase {
  std::uint32_t extent, work;  // places
  std::int32_t step;           // of the parallel loop
};

struct PlannedStep {
  const CopyStep* copy = nullptr;
  const CallStep* call = nullptr;  // `sizes`: of its operands' axes, then its results'; or else a kernel:
  std::uint32_t kernel = 0;
  Entries buffers, sizes, scalars;  // slots, places of values, the caller's scalars
  Entries phases{};                 // of State::phases, and of State::costs
  bool scratch = false, streams = false;
};

struct FreshResult {
  std::uint32_t slot, position;  // the first result that is this slot
};

struct StreamingVariant {
  std::mutex mutex;
  std::atomic<bool> asked{false};
  KernelEntry entry;
};

}  // namespace

struct Executable::State {
  const ir::Program program;
  std::vector<KernelEntry> entries;
  std::vector<ir::LoopInterpreter> interpreters;  // or else empty
  StreamingSource streaming_source;
  std::unique_ptr<StreamingVariant[]> streaming;

  IndexProgram index;
  std::uint32_t arena_bytes = 0;                 // a place
  std::vector<std::uint32_t> elements, offsets;  // places, by slot
  std::vector<std::uint32_t> table;
  std::vector<PlannedStep> steps;
  std::vector<PlannedPhase> phases;
  std::unique_ptr<std::atomic<float>[]> costs;  // learnt, by phase
  std::vector<FreshResult> fresh;
  std::int64_t core_share = 0;     // of the caches, in bytes
  std::size_t first_in_place = 0;  // from this step on, memory of the caller's changes

  explicit State(ir::Program given) : program(std::move(given)) { plan(); }

  void plan();
  void plan_index();
  void plan_results();
  PlannedStep plan_kernel(const KernelStep& step);
  PlannedStep plan_call(const CallStep& step);
  void check_step(const Step& step) const;
  bool writes_in_place(const Step& step) const;

  std::int64_t bytes_of(std::uint32_t slot, const std::int64_t* values) const;
  void check_inputs(std::span<const Buffer> inputs, const std::int64_t* values) const;
  void check_arguments(std::size_t inputs, std::size_t symbols, std::size_t scalars, std::size_t results) const;
  Failure run(Workspace& work, std::span<const Buffer> inputs, std::span<const std::int64_t> symbols,
              std::span<const std::uint64_t> scalars, std::span<Buffer> results) const;
  Outcome run_step(const PlannedStep& step, Workspace& work, std::span<const std::int64_t> symbols,
                   std::span<const std::uint64_t> scalars, bool may_stop) const;
  Outcome run_call(const PlannedStep& step, Workspace& work, std::span<const std::int64_t> symbols,
                   std::span<const std::uint64_t> scalars, bool may_stop) const;
  Fault run_copy(const CopyStep& step, const Workspace& work, bool may_stop) const;
  Fault run_kernel(const PlannedStep& step, Workspace& work, std::span<const std::uint64_t> scalars, bool may_stop) const;
  ir::KernelFunction streaming_function(const PlannedStep& step, const std::int64_t* values) const;
};

void Executable::State::check_step(const Step& step) const {
  const auto check_slot = [&](std::uint32_t slot) {
    invariant(slot < program.slots.size(), "slot {} of {}", slot, program.slots.size());
  };
  if (const auto* copied = std::get_if<CopyStep>(&step.action)) {
    check_slot(copied->from);
    check_slot(copied->to);
    invariant(program.slots[copied->to].kind != Slot::Kind::input, "a copy to slot {}, which is read only", copied->to);
    return;
  }
  if (const auto* called = std::get_if<CallStep>(&step.action)) {
    for (const CallStep::Array& array : called->in) {
      if (array.kind == CallStep::Array::Kind::slot) check_slot(array.number);
      if (array.kind == CallStep::Array::Kind::scalar)
        invariant(array.number < program.scalars, "scalar {} of {}", array.number, program.scalars);
    }
    for (const CallStep::Array& array : called->out) {
      if (array.kind != CallStep::Array::Kind::slot) continue;
      check_slot(array.number);
      invariant(program.slots[array.number].kind != Slot::Kind::input, "{} writes slot {}, which is read only",
                ir::name(called->op), array.number);
    }
    return;
  }
  const auto& launched = std::get<KernelStep>(step.action);
  invariant(launched.kernel < program.kernels.size(), "kernel {} of {}", launched.kernel, program.kernels.size());
  const ir::Kernel& kernel = program.kernels[launched.kernel];
  invariant(launched.buffers.size() == kernel.buffers.size() && launched.sizes.size() == kernel.sizes.size() &&
                launched.scalars.size() == kernel.scalars.size(),
            "kernel {} gets {} buffers, {} sizes and {} scalars, and has {}, {} and {}", kernel.name, launched.buffers.size(),
            launched.sizes.size(), launched.scalars.size(), kernel.buffers.size(), kernel.sizes.size(), kernel.scalars.size());
  for (std::size_t i = 0; i < launched.buffers.size(); ++i) {
    check_slot(launched.buffers[i]);
    invariant(!kernel.buffers[i].writes || program.slots[launched.buffers[i]].kind != Slot::Kind::input,
              "kernel {} writes slot {}, which is read only", kernel.name, launched.buffers[i]);
  }
  for (const std::uint32_t scalar : launched.scalars)
    invariant(scalar < program.scalars, "scalar {} of {}", scalar, program.scalars);
}

bool Executable::State::writes_in_place(const Step& step) const {
  const auto in_place = [&](std::uint32_t slot) { return program.slots[slot].kind == Slot::Kind::in_out; };
  if (const auto* copied = std::get_if<CopyStep>(&step.action)) return in_place(copied->to);
  if (const auto* called = std::get_if<CallStep>(&step.action))
    return std::ranges::any_of(called->out, [&](const CallStep::Array& array) {
      return array.kind == CallStep::Array::Kind::slot && in_place(array.number);
    });
  const auto& launched = std::get<KernelStep>(step.action);
  const ir::Kernel& kernel = program.kernels[launched.kernel];
  for (std::size_t i = 0; i < launched.buffers.size(); ++i)
    if (kernel.buffers[i].writes && in_place(launched.buffers[i])) return true;
  return false;
}

PlannedStep Executable::State::plan_kernel(const KernelStep& step) {
  const ir::Kernel& kernel = program.kernels[step.kernel];
  const auto add = [&](const auto& numbers, auto entry) {
    const Entries entries{static_cast<std::uint32_t>(table.size()), static_cast<std::uint32_t>(numbers.size())};
    for (const std::uint32_t number : numbers) table.push_back(entry(number));
    return entries;
  };
  const auto same = [](std::uint32_t number) { return number; };
  const auto place = [&](ir::IndexId id) { return index.place(id); };
  const std::vector<std::int32_t> loops = steps_of_phases(kernel);
  invariant(loops.size() == step.then.size() + 1, "kernel {} has {} parallel loops, and its step {} extents", kernel.name,
            loops.size(), step.then.size() + 1);
  const Entries own{static_cast<std::uint32_t>(phases.size()), static_cast<std::uint32_t>(loops.size())};
  phases.push_back({place(step.extent), place(step.work), loops[0]});
  for (std::size_t i = 0; i < step.then.size(); ++i)
    phases.push_back({place(step.then[i].extent), place(step.then[i].work), loops[i + 1]});
  return {.kernel = step.kernel,
          .buffers = add(step.buffers, same),
          .sizes = add(step.sizes, place),
          .scalars = add(step.scalars, same),
          .phases = own,
          .scratch = std::ranges::any_of(kernel.scratch, [](const auto& array) { return array.space == ir::Space::heap; }),
          .streams = std::ranges::any_of(kernel.buffers, &ir::BufferParameter::streaming)};
}

PlannedStep Executable::State::plan_call(const CallStep& step) {
  PlannedStep planned{.call = &step};
  planned.sizes.begin = static_cast<std::uint32_t>(table.size());
  for (const auto* side : {&step.in, &step.out})
    for (const CallStep::Array& array : *side)
      for (const ir::IndexId size : array.sizes) table.push_back(index.place(size));
  planned.sizes.count = static_cast<std::uint32_t>(table.size()) - planned.sizes.begin;
  return planned;
}

void Executable::State::plan_index() {
  std::vector<ir::IndexId> needed{program.arena_bytes};
  for (const Slot& slot : program.slots) {
    needed.push_back(slot.elements);
    if (slot.kind == Slot::Kind::temporary) needed.push_back(slot.arena_offset);
    const bool outside = slot.kind == Slot::Kind::input || slot.kind == Slot::Kind::in_out;
    invariant(!outside || slot.input < program.inputs, "input {} of {}", slot.input, program.inputs);
  }
  for (const Step& step : program.steps) {
    if (const auto* called = std::get_if<CallStep>(&step.action))
      for (const auto* side : {&called->in, &called->out})
        for (const CallStep::Array& array : *side) needed.insert(needed.end(), array.sizes.begin(), array.sizes.end());
    const auto* launched = std::get_if<KernelStep>(&step.action);
    if (!launched) continue;
    needed.insert(needed.end(), launched->sizes.begin(), launched->sizes.end());
    needed.insert(needed.end(), {launched->extent, launched->work});
    for (const ir::KernelPhase& phase : launched->then) needed.insert(needed.end(), {phase.extent, phase.work});
  }
  index = IndexProgram(program.index, program.symbols, needed);
  arena_bytes = index.place(program.arena_bytes);
  for (const Slot& slot : program.slots) {
    elements.push_back(index.place(slot.elements));
    offsets.push_back(slot.kind == Slot::Kind::temporary ? index.place(slot.arena_offset) : 0);
  }
}

void Executable::State::plan_results() {
  std::vector<bool> leaves(program.slots.size(), false);
  for (std::uint32_t i = 0; i < program.results.size(); ++i) {
    const std::uint32_t slot = program.results[i];
    invariant(slot < program.slots.size(), "slot {} of {}", slot, program.slots.size());
    invariant(program.slots[slot].kind != Slot::Kind::temporary, "result {} is slot {}, which dies with the run", i, slot);
    if (program.slots[slot].kind == Slot::Kind::result && !leaves[slot]) fresh.push_back({slot, i});
    leaves[slot] = true;
  }
  for (std::size_t i = 0; i < leaves.size(); ++i)
    invariant(leaves[i] || program.slots[i].kind != Slot::Kind::result, "slot {} is a result that nobody gets", i);
}

void Executable::State::plan() {
  for (const Step& step : program.steps) check_step(step);
  plan_index();
  plan_results();
  first_in_place = program.steps.size();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (const auto* copied = std::get_if<CopyStep>(&step.action))
      steps.push_back({.copy = copied});
    else if (const auto* called = std::get_if<CallStep>(&step.action))
      steps.push_back(plan_call(*called));
    else
      steps.push_back(plan_kernel(std::get<KernelStep>(step.action)));
    if (first_in_place == program.steps.size() && writes_in_place(step)) first_in_place = i;
  }
  costs = std::make_unique<std::atomic<float>[]>(phases.size());
  streaming = std::make_unique<StreamingVariant[]>(program.kernels.size());
  const ir::CpuTarget& target = ir::host_target();
  core_share = std::max(target.l2_bytes, target.l3_bytes / std::max(1, target.cores));
}

void Executable::State::check_arguments(std::size_t inputs, std::size_t symbols, std::size_t scalars, std::size_t results) const {
  invariant(
      inputs == program.inputs && symbols == program.symbols && scalars == program.scalars && results == program.results.size(),
      "a Program of {} inputs, {} symbols, {} scalars and {} results gets {}, {}, {} and {}", program.inputs, program.symbols,
      program.scalars, program.results.size(), inputs, symbols, scalars, results);
}

std::int64_t Executable::State::bytes_of(std::uint32_t slot, const std::int64_t* values) const {
  const std::int64_t count = values[elements[slot]], size = size_of(program.slots[slot].type);
  require<ValueError>(count >= 0, "a tensor cannot have {} elements", count);
  require<ValueError>(count <= std::numeric_limits<std::int64_t>::max() / size, "a tensor of {} elements is too large", count);
  return count * size;
}

void Executable::State::check_inputs(std::span<const Buffer> inputs, const std::int64_t* values) const {
  for (std::uint32_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    if (slot.kind != Slot::Kind::input && slot.kind != Slot::Kind::in_out) continue;
    const auto& [block, data] = inputs[slot.input];
    if (!block) continue;
    const std::int64_t offset = static_cast<const char*>(data) - static_cast<const char*>(block.data());
    invariant(offset >= 0 && offset + bytes_of(i, values) <= block.bytes(), "slot {}: {} bytes at {} of a block of {}", i,
              bytes_of(i, values), offset, block.bytes());
    invariant(slot.kind == Slot::Kind::input || !block.read_only(), "slot {}: a write to memory that is read only", i);
  }
}

// `work.values` holds the index expressions.
Failure Executable::State::run(Workspace& work, std::span<const Buffer> inputs, std::span<const std::int64_t> symbols,
                               std::span<const std::uint64_t> scalars, std::span<Buffer> results) const {
  const std::int64_t* const values = work.values.data();
  void** const data = Workspace::room(work.data, program.slots.size());
#if defined(BRAZE_CHECKED)
  check_inputs(inputs, values);
#endif
  Block arena;
  if (const std::int64_t bytes = values[arena_bytes]; bytes != 0) {
    require<ValueError>(bytes > 0, "temporaries cannot take {} bytes", bytes);
    arena = Block::allocate(bytes);
  }
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    if (slot.kind == Slot::Kind::temporary)
      data[i] = static_cast<char*>(arena.data()) + values[offsets[i]];
    else if (slot.kind != Slot::Kind::result)
      data[i] = inputs[slot.input].data;
  }
  for (const auto& [slot, position] : fresh) {
    Block block = Block::allocate(bytes_of(slot, values));
    data[slot] = block.data();
    results[position] = {std::move(block), data[slot]};
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlannedStep& step = steps[i];
    const bool may_stop = i < first_in_place;
    // Also at the door of the first in-place step: from there on, all of them run.
    Outcome outcome{i <= first_in_place && stopping() ? Fault::stopped : Fault::none};
    if (outcome.fault == Fault::none) outcome = run_step(step, work, symbols, scalars, may_stop);
    if (outcome.fault != Fault::none) [[unlikely]]
      return {outcome.fault, static_cast<std::uint32_t>(i), std::move(outcome.message)};
  }
  std::size_t next_fresh = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Slot& slot = program.slots[program.results[i]];
    if (next_fresh < fresh.size() && fresh[next_fresh].position == i)
      ++next_fresh;
    else if (slot.kind != Slot::Kind::result)
      results[i] = inputs[slot.input];
    else
      results[i] = results[std::ranges::find(fresh, program.results[i], &FreshResult::slot)->position];
  }
  return {Fault::none, 0};
}

Outcome Executable::State::run_step(const PlannedStep& step, Workspace& work, std::span<const std::int64_t> symbols,
                                    std::span<const std::uint64_t> scalars, bool may_stop) const {
  if (step.call) return run_call(step, work, symbols, scalars, may_stop);
  return {step.copy ? run_copy(*step.copy, work, may_stop) : run_kernel(step, work, scalars, may_stop)};
}

// Symbols come from outside: infer refuses those that make no sense together, before memory is touched.
void check_call(const CallStep& step, const ir::Attributes& attributes, std::span<const RoutineArray> arrays) {
  std::vector<ir::Type> types(step.in.size());
  std::vector<const ir::Type*> in;
  const auto shape_of = [](const RoutineArray& array) {
    ir::Shape shape;
    for (const std::int64_t size : array.sizes) shape.push_back(size);
    return shape;
  };
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i] = {arrays[i].type, shape_of(arrays[i])};
    in.push_back(&types[i]);
  }
  ir::Type out[ir::max_results];
  ir::infer(step.op, attributes, in, {out, step.out.size()});
  for (std::size_t r = 0; r < step.out.size(); ++r)
    invariant(out[r] == (ir::Type{step.out[r].type, shape_of(arrays[types.size() + r])}), "{} gives other sizes than planned",
              ir::name(step.op));
}

Outcome Executable::State::run_call(const PlannedStep& step, Workspace& work, std::span<const std::int64_t> symbols,
                                    std::span<const std::uint64_t> scalars, bool may_stop) const {
  using Kind = CallStep::Array::Kind;
  const CallStep& call = *step.call;
  const std::size_t count = call.in.size() + call.out.size();
  std::int64_t* size = Workspace::room(work.sizes, step.sizes.count);
  std::uint64_t* value = Workspace::room(work.scalars, count);
  RoutineArray* array = Workspace::room(work.arrays, count);
  const std::uint32_t* place = table.data() + step.sizes.begin;
  for (const auto* side : {&call.in, &call.out})
    for (const CallStep::Array& from : *side) {
      *array = {from.type, {size, from.sizes.size()}, nullptr};
      for (std::size_t i = 0; i < from.sizes.size(); ++i) *size++ = work.values[*place++];
      if (from.kind == Kind::slot) array->data = work.data[from.number];
      if (from.kind == Kind::scalar || from.kind == Kind::constant) {
        *value = from.kind == Kind::scalar ? scalars[from.number] : from.bits;
        array->data = value++;
      }
      ++array;
    }
  const std::span<const RoutineArray> arrays(work.arrays.data(), count);
  ir::Attributes attributes = call.attributes;
  ir::for_each_extent(attributes, [&](ir::Extent& e) {
    if (e.is_symbol()) e = symbols[e.symbol()];
  });
  check_call(call, attributes, arrays);
  return run_routine({call.op, attributes, arrays.first(call.in.size()), arrays.subspan(call.in.size()), may_stop});
}

Fault Executable::State::run_copy(const CopyStep& step, const Workspace& work, bool may_stop) const {
  const std::int64_t bytes = bytes_of(step.to, work.values.data()), there = bytes_of(step.from, work.values.data());
  invariant(bytes == there, "a copy of {} bytes to {}", there, bytes);
  return copy(work.data[step.to], work.data[step.from], bytes, may_stop);
}

// The variant whose stores pass the cache, where the cores could not keep what the step writes; null where they can.
ir::KernelFunction Executable::State::streaming_function(const PlannedStep& step, const std::int64_t* values) const {
  const ir::Kernel& kernel = program.kernels[step.kernel];
  std::int64_t written = 0;
  for (std::uint32_t i = 0; i < step.buffers.count; ++i)
    if (kernel.buffers[i].streaming) written += bytes_of(table[step.buffers.begin + i], values);
  if (written <= core_share || written / executor().threads() <= core_share) return nullptr;
  StreamingVariant& variant = streaming[step.kernel];
  if (!variant.asked.load(std::memory_order_acquire)) {
    const std::unique_lock hold(variant.mutex, std::try_to_lock);
    if (!hold) return nullptr;  // another thread waits for the compiler already
    if (!variant.asked.load(std::memory_order_relaxed)) {
      variant.entry = streaming_source(step.kernel);
      variant.asked.store(true, std::memory_order_release);
    }
  }
  return variant.entry.regular;
}

Fault Executable::State::run_kernel(const PlannedStep& step, Workspace& work, std::span<const std::uint64_t> scalars,
                                    bool may_stop) const {
  const std::int64_t* const values = work.values.data();
  bool empty = true;
  for (std::uint32_t i = 0; i < step.phases.count; ++i) {
    const std::int64_t extent = values[phases[step.phases.begin + i].extent];
    require<ValueError>(extent >= 0, "a loop cannot have {} iterations", extent);
    empty = empty && extent == 0;
  }
  if (empty) return Fault::none;
  void** const buffers = Workspace::room(work.buffers, step.buffers.count);
  std::int64_t* const sizes = Workspace::room(work.sizes, step.sizes.count);
  std::uint64_t* const arguments = Workspace::room(work.scalars, step.scalars.count);
  const std::uint32_t* entry = &table[step.buffers.begin];
  for (std::uint32_t i = 0; i < step.buffers.count; ++i) buffers[i] = work.data[entry[i]];
  entry = table.data() + step.sizes.begin;
  for (std::uint32_t i = 0; i < step.sizes.count; ++i) sizes[i] = values[entry[i]];
  entry = table.data() + step.scalars.begin;
  for (std::uint32_t i = 0; i < step.scalars.count; ++i) arguments[i] = scalars[entry[i]];

  Launch launch{.args = {buffers, sizes, arguments}, .may_stop = may_stop};
  const auto run_phases = [&] {
    for (std::uint32_t i = step.phases.begin; i < step.phases.begin + step.phases.count; ++i) {
      launch.extent = values[phases[i].extent];
      launch.step = phases[i].step;
      launch.work = values[phases[i].work];
      launch.cost = &costs[i];
      if (launch.extent == 0) continue;
      if (const Fault fault = launch.run(); fault != Fault::none) return fault;
      launch.first += launch.extent;
    }
    return Fault::none;
  };
  if (!interpreters.empty()) {
    std::int64_t* const counts = Workspace::room(work.elements, step.buffers.count);
    for (std::uint32_t i = 0; i < step.buffers.count; ++i) counts[i] = values[elements[table[step.buffers.begin + i]]];
    launch.interpreter = &interpreters[step.kernel];
    launch.elements = {counts, step.buffers.count};
    return run_phases();
  }
  if (step.scratch) launch.scratch_bytes = ir::scratch_bytes(program.kernels[step.kernel], {sizes, step.sizes.count});
  if (step.streams && streaming_source) launch.function = streaming_function(step, values);
  if (!launch.function) launch.function = entries[step.kernel].regular;
  return run_phases();
}

Executable::Executable(ir::Program program, std::vector<KernelEntry> entries, StreamingSource streaming)
    : state_(std::make_unique<State>(std::move(program))) {
  invariant(entries.size() == state_->program.kernels.size(), "{} entry points for {} kernels", entries.size(),
            state_->program.kernels.size());
  for (const KernelEntry& entry : entries) invariant(entry.regular != nullptr, "a kernel without an entry point");
  state_->entries = std::move(entries);
  state_->streaming_source = std::move(streaming);
}

std::shared_ptr<const Executable> Executable::interpreted(ir::Program program) {
  const auto nothing = [](const ir::KernelArgs*, std::int64_t, std::int64_t, void*) { return std::int32_t{0}; };
  std::vector<KernelEntry> entries(program.kernels.size(), KernelEntry{nothing, nullptr});
  auto executable = std::make_shared<Executable>(std::move(program), std::move(entries), nullptr);
  for (const ir::Kernel& kernel : executable->state_->program.kernels) executable->state_->interpreters.emplace_back(kernel);
  return executable;
}

Executable::~Executable() = default;

const ir::Program& Executable::program() const { return state_->program; }

Failure Executable::run(std::span<const Buffer> inputs, std::span<const std::int64_t> symbols,
                        std::span<const std::uint64_t> scalars, std::span<Buffer> results) const {
  state_->check_arguments(inputs.size(), symbols.size(), scalars.size(), results.size());
  const WorkspaceLease lease;
  Workspace& work = *lease;
  state_->index.evaluate(symbols, Workspace::room(work.values, state_->index.size()));
  struct NobodyGetsHalfAResult {
    std::span<Buffer> results;
    ~NobodyGetsHalfAResult() { std::ranges::fill(results, Buffer{}); }
  } unfinished{results};
  const Failure failure = state_->run(work, inputs, symbols, scalars, results);
  if (failure.fault == Fault::none) unfinished.results = {};
  return failure;
}

}  // namespace braze::runtime
