// Kernels become steps over slots. A value computed in memory gets a slot of its own, or that of an operand that dies there (a
// store: of the storage it writes to) where every read in the kernel is at the place that is written. Otherwise a store is a copy of
// the storage and a kernel that writes to the copy. Temporaries share one arena.
//
// A step that overwrites memory of the caller's comes after every step that can fault, and cannot fault itself; else it takes fresh
// memory, so that a failed run changes nothing.
#include <algorithm>
#include <map>
#include <optional>

#include "ir/error.h"
#include "passes/affine.h"
#include "passes/arena.h"
#include "passes/nest.h"
#include "passes/rebuffer.h"

namespace braze::passes {

using ir::Graph;
using ir::IndexId;
using ir::Node;
using ir::Op;
using ir::Slot;
using ir::Value;

namespace {

constexpr std::uint32_t no_slot = ~std::uint32_t{0};

class Planner {
 public:
  Planner(Module& module, const Options& options)
      : module_(module),
        graph_(module.graph),
        index_(module.index),
        extents_(module.graph, module.index),
        on_cpu_(std::holds_alternative<ir::CpuTarget>(options.target)),
        sizes_(options.sizes) {}
  void run();

 private:
  struct Life {
    std::size_t first = 0, last = 0;  // steps (kernels by number)
    bool writable = false;            // the Program may overwrite it
    bool result = false;
  };
  using Key = std::uint64_t;
  static Key key(Value v) { return std::uint64_t{v.node} << 32 | v.result; }

  void number_parameters();
  void find_lives();
  void find_counts();
  IndexId count_of(Value value) const;
  std::uint32_t slot_of(Value value);
  std::uint32_t fresh_slot(Value value);
  bool may_overwrite(std::uint32_t slot, std::size_t kernel, bool faults) const;
  bool reads_only_at(const Nest& nest, std::uint32_t buffer, const Output& output) const;
  bool read_by_others_of_the_group(std::size_t kernel, Value operand) const;
  bool dies(Value value, std::size_t kernel) const;
  std::optional<std::uint32_t> overwritten(std::size_t kernel, const Nest& nest, const Output& output);
  bool taken(const Nest& nest, std::uint32_t slot) const;
  void place_store(std::size_t kernel, const Nest& nest, const Output& output);
  void place_outputs(const Lowered& lowered, std::size_t kernel);
  void add_call(const Nest& nest);
  void add_kernel(std::size_t kernel);
  void finish_slots();
  void arrange_arena();

  Module& module_;
  const Graph& graph_;
  ir::IndexTable& index_;
  const Extents extents_;
  const bool on_cpu_;  // elsewhere several threads may compute a row's values
  const std::vector<std::int64_t>& sizes_;
  ir::Program program_;
  std::vector<std::uint32_t> input_of_, scalar_of_;  // by parameter number
  std::map<IndexId, IndexId> counts_;                // numbers of elements, to one that a reshape says is equal
  std::map<Key, std::uint32_t> slots_;
  std::map<Key, std::size_t> last_use_;  // the last kernel that reads or writes a value; results live to the end
  std::vector<Life> lives_;              // by slot
  std::size_t last_fault_ = 0;           // 1 + the last kernel that can fault
  std::vector<bool> faults_;
};

void Planner::number_parameters() {
  for (const Value v : graph_.parameters()) {
    const auto& parameter = graph_.node(v).as<ir::Parameter>();
    const bool scalar = parameter.kind == ir::Parameter::Kind::scalar;
    input_of_.push_back(program_.inputs);
    scalar_of_.push_back(program_.scalars);
    ++(scalar ? program_.scalars : program_.inputs);
  }
  program_.symbols = static_cast<std::uint32_t>(graph_.symbols.size());
}

void Planner::find_lives() {
  for (std::size_t k = 0; k < module_.kernels.size(); ++k) {
    const Lowered& lowered = module_.kernels[k];
    for (const Value v : lowered.buffers) last_use_[key(v)] = k;
    for (const Output& output : module_.nests[lowered.group]->outputs)
      if (output.into) last_use_[key(output.into)] = k;
    faults_.push_back(lowered.call || can_fault(lowered.loops));
    if (faults_.back()) last_fault_ = k + 1;
  }
  for (const Value v : graph_.results) last_use_[key(stored_value(graph_, v))] = module_.kernels.size();
}

void Planner::find_counts() {
  for (const ir::NodeId id : ir::postorder(graph_, graph_.results)) {
    const Node& node = graph_[id];
    if (node.op != Op::reshape) continue;
    const IndexId result = count_of({id, 0}), operand = count_of(node.in[0]);
    if (result != operand) counts_[std::max(result, operand)] = std::min(result, operand);
  }
}

IndexId Planner::count_of(Value value) const {
  IndexId count = extents_.product(graph_.type(value).shape);
  for (auto at = counts_.find(count); at != counts_.end(); at = counts_.find(count)) count = at->second;
  return count;
}

std::uint32_t Planner::fresh_slot(Value value) {
  Slot slot;
  if (value.node >= temporary_base) {
    const Temporary& temporary = module_.temporaries[value.node - temporary_base];
    slot.type = temporary.type;
    slot.elements = temporary.elements;
  } else {
    slot.type = graph_.type(value).dtype;
    slot.elements = extents_.product(graph_.type(value).shape);
  }
  program_.slots.push_back(slot);
  lives_.push_back({.writable = true});
  return static_cast<std::uint32_t>(program_.slots.size() - 1);
}

// A parameter's slot is made when it is first read; a computed value's by place_outputs.
std::uint32_t Planner::slot_of(Value value) {
  const auto [at, fresh] = slots_.emplace(key(value), no_slot);
  if (!fresh) return at->second;
  at->second = fresh_slot(value);
  if (value.node >= temporary_base) return at->second;
  const Node& node = graph_.node(value);
  invariant(node.op == Op::parameter, "%{} ({}) is read before it is computed", value.node, ir::name(node.op));
  const auto& parameter = node.as<ir::Parameter>();
  Slot& slot = program_.slots[at->second];
  slot.kind = Slot::Kind::input;
  slot.input = input_of_[parameter.number];
  lives_[at->second].writable = parameter.kind == ir::Parameter::Kind::donated;
  return at->second;
}

bool Planner::may_overwrite(std::uint32_t slot, std::size_t kernel, bool faults) const {
  if (!lives_[slot].writable) return false;
  const bool callers = program_.slots[slot].kind != Slot::Kind::temporary;
  return !callers || (!faults && last_fault_ <= kernel);
}

// Whether all that the kernel reads of a buffer is, for each element, read before the output is written there, and at that place. A kernel
// that reduces passes over a row several times, each in a loop of its own: then the output must be one a row, as a dot's elements are, and
// what is reduced, multiplied, or stored an element must not be made of the buffer.
bool Planner::reads_only_at(const Nest& nest, std::uint32_t buffer, const Output& output) const {
  std::vector<bool> early(nest.exprs.size());
  // Sums of columns are over, or have taken an element, when it is stored; and no column reads another one's elements.
  const bool by_column = on_cpu_ && nest.contractions.empty() && nest.order == ReduceOrder::outer && !output.row;
  if (!by_column && (!nest.reductions.empty() || !nest.contractions.empty())) {
    if (!output.row || !on_cpu_)
      return std::none_of(nest.exprs.begin(), nest.exprs.end(), [&](const Expr& expr) {
        return (expr.kind == Expr::Kind::load || expr.kind == Expr::Kind::take) && expr.number == buffer;
      });
    for (const Reduction& reduction : nest.reductions) early[reduction.operand] = true;
    for (const Contraction& contraction : nest.contractions) early[contraction.left] = early[contraction.right] = true;
    for (const Output& other : nest.outputs)
      if (!other.row || other.along != output.along) early[other.expr] = true;
    for (std::size_t e = early.size(); e-- > 0;)  // operands come first
      if (early[e])
        for (const ExprId in : nest.exprs[e].in) early[in] = true;
  }
  for (std::size_t e = 0; e < nest.exprs.size(); ++e) {
    const Expr& expr = nest.exprs[e];
    if (expr.number != buffer) continue;
    if (expr.kind == Expr::Kind::take) return false;
    if (expr.kind == Expr::Kind::load && (early[e] || !(nest.affines[expr.affine] == nest.affines[output.address]))) return false;
  }
  return true;
}

// Kernels that share a nest read and write it in different steps.
bool Planner::read_by_others_of_the_group(std::size_t kernel, Value operand) const {
  const auto reads = [&](std::size_t other) {
    const std::vector<Value>& buffers = module_.kernels[other].buffers;
    return std::find(buffers.begin(), buffers.end(), operand) != buffers.end();
  };
  const std::uint32_t group = module_.kernels[kernel].group;
  for (std::size_t other = kernel; other > 0 && module_.kernels[other - 1].group == group; --other)
    if (reads(other - 1)) return true;
  for (std::size_t other = kernel + 1; other < module_.kernels.size() && module_.kernels[other].group == group; ++other)
    if (reads(other)) return true;
  return false;
}

bool Planner::dies(Value value, std::size_t kernel) const { return last_use_.at(key(value)) <= kernel; }

// The slot of a dying operand that the output may take the place of.
std::optional<std::uint32_t> Planner::overwritten(std::size_t kernel, const Nest& nest, const Output& output) {
  const Value value = nest.buffers[output.buffer];
  const IndexId count = count_of(value);
  for (std::uint32_t b = 0; b < nest.buffers.size(); ++b) {
    const Value operand = nest.buffers[b];
    if (b == output.buffer || !dies(operand, kernel)) continue;
    const auto at = slots_.find(key(operand));
    if (at == slots_.end()) {
      if (graph_.node(operand).op != Op::parameter) continue;
    }
    if (graph_.type(operand).dtype != graph_.type(value).dtype || count_of(operand) != count) continue;
    if (!reads_only_at(nest, b, output) || read_by_others_of_the_group(kernel, operand)) continue;
    const std::uint32_t slot = slot_of(operand);
    if (!may_overwrite(slot, kernel, faults_[kernel])) continue;
    if (!taken(nest, slot)) return slot;
  }
  return std::nullopt;
}

// One value of a kernel takes the place of an operand: whether one did.
bool Planner::taken(const Nest& nest, std::uint32_t slot) const {
  return std::any_of(nest.outputs.begin(), nest.outputs.end(), [&](const Output& other) {
    const auto placed = slots_.find(key(nest.buffers[other.buffer]));
    return placed != slots_.end() && placed->second == slot;
  });
}

void Planner::place_store(std::size_t kernel, const Nest& nest, const Output& output) {
  const Value value = nest.buffers[output.buffer];
  const std::uint32_t from = slot_of(output.into);
  std::uint32_t read = 0;
  while (read < nest.buffers.size() && nest.buffers[read] != output.into) ++read;
  // Where places repeat, a read of the storage would see what an earlier element left.
  const bool reads_fit = output.accumulate ? read == nest.buffers.size() : reads_only_at(nest, read, output);
  if (dies(output.into, kernel) && reads_fit && may_overwrite(from, kernel, faults_[kernel]) && !taken(nest, from)) {
    slots_[key(value)] = from;
    return;
  }
  const std::uint32_t to = slots_[key(value)] = fresh_slot(value);
  program_.steps.push_back({ir::CopyStep{from, to}, ir::text(nest.location)});
}

void Planner::place_outputs(const Lowered& lowered, std::size_t kernel) {
  const Nest& nest = *module_.nests[lowered.group];
  for (const bool stores : {true, false})
    for (const Output& output : nest.outputs) {
      const Value value = nest.buffers[output.buffer];
      const bool here = std::find(lowered.buffers.begin(), lowered.buffers.end(), value) != lowered.buffers.end();
      if (!here || slots_.contains(key(value)) || static_cast<bool>(output.into) != stores) continue;
      if (stores) {
        place_store(kernel, nest, output);
        continue;
      }
      const auto slot = overwritten(kernel, nest, output);
      slots_[key(value)] = slot ? *slot : fresh_slot(value);
    }
}

// Results of a call are fresh: a routine reads its operands in an order of its own.
void Planner::add_call(const Nest& nest) {
  using Array = ir::CallStep::Array;
  const Node& node = graph_[*nest.routine];
  ir::CallStep step{node.op, *node.attributes, {}, {}};
  const auto sized = [&](Array::Kind kind, const ir::Type& type) {
    Array array{.kind = kind, .type = type.dtype};
    for (const ir::Extent e : type.shape) array.sizes.push_back(extents_.of(e));
    return array;
  };
  for (const Value in : node.in) {
    const Node& operand = graph_.node(in);
    const bool by_value = is_immediate(operand);
    const auto kind = !by_value ? Array::Kind::slot : operand.op == Op::constant ? Array::Kind::constant : Array::Kind::scalar;
    step.in.push_back(sized(kind, graph_.type(in)));
    if (kind == Array::Kind::slot) step.in.back().number = slot_of(stored_value(graph_, in));
    if (kind == Array::Kind::constant) step.in.back().bits = operand.as<ir::Literal>().bits;
    if (kind == Array::Kind::scalar) step.in.back().number = scalar_of_[operand.as<ir::Parameter>().number];
  }
  for (std::uint32_t r = 0; r < node.out.size(); ++r) {
    const Value result{*nest.routine, r};
    const bool wanted = std::find(nest.buffers.begin(), nest.buffers.end(), result) != nest.buffers.end();
    step.out.push_back(sized(wanted ? Array::Kind::slot : Array::Kind::unread, node.out[r]));
    if (wanted) step.out.back().number = slots_[key(result)] = fresh_slot(result);
  }
  program_.steps.push_back({std::move(step), ir::text(nest.location)});
}

void Planner::add_kernel(std::size_t number) {
  Lowered& lowered = module_.kernels[number];
  if (lowered.call) return add_call(*module_.nests[lowered.group]);
  place_outputs(lowered, number);
  std::vector<std::uint32_t> slots;
  for (const Value v : lowered.buffers) slots.push_back(slot_of(v));
  merge_buffers(lowered.loops, slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = program_.slots[slots[i]];
    if (lowered.loops.buffers[i].writes && slot.kind == Slot::Kind::input) slot.kind = Slot::Kind::in_out;
  }
  ir::KernelStep step{.kernel = static_cast<std::uint32_t>(program_.kernels.size()),
                      .buffers = std::move(slots),
                      .sizes = lowered.sizes,
                      .scalars = {},
                      .extent = lowered.extent,
                      .work = lowered.work,
                      .then = lowered.then};
  for (const std::uint32_t parameter : lowered.scalars) step.scalars.push_back(scalar_of_[parameter]);
  program_.kernels.push_back(std::move(lowered.loops));
  program_.steps.push_back({std::move(step), ir::text(module_.nests[lowered.group]->location)});
}

void Planner::finish_slots() {
  for (const Value v : graph_.results) {
    const std::uint32_t slot = slot_of(stored_value(graph_, v));
    program_.results.push_back(slot);
    if (program_.slots[slot].kind == Slot::Kind::temporary) program_.slots[slot].kind = Slot::Kind::result;
  }
  for (auto& life : lives_) life = {.first = program_.steps.size()};
  const auto touch = [&](std::uint32_t slot, std::size_t step) {
    lives_[slot].first = std::min(lives_[slot].first, step);
    lives_[slot].last = std::max(lives_[slot].last, step);
  };
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    std::visit(ir::match{[&](const ir::CopyStep& step) {
                           touch(step.from, i);
                           touch(step.to, i);
                         },
                         [&](const ir::KernelStep& step) {
                           for (const std::uint32_t slot : step.buffers) touch(slot, i);
                         },
                         [&](const ir::CallStep& step) {
                           for (const auto* side : {&step.in, &step.out})
                             for (const ir::CallStep::Array& array : *side)
                               if (array.kind == ir::CallStep::Array::Kind::slot) touch(array.number, i);
                         }},
               program_.steps[i].action);
  }
  // A result that no kernel reads is best written past the cache.
  std::vector<bool> read(program_.slots.size());
  for (const ir::Step& step : program_.steps) {
    if (const auto* copied = std::get_if<ir::CopyStep>(&step.action)) {
      read[copied->from] = read[copied->to] = true;
      continue;
    }
    if (const auto* called = std::get_if<ir::CallStep>(&step.action)) {
      for (const ir::CallStep::Array& array : called->in)
        if (array.kind == ir::CallStep::Array::Kind::slot) read[array.number] = true;
      continue;
    }
    const auto& launched = std::get<ir::KernelStep>(step.action);
    const std::vector<bool> loads = buffers_read(program_.kernels[launched.kernel]);
    for (std::size_t b = 0; b < loads.size(); ++b)
      if (loads[b]) read[launched.buffers[b]] = true;
  }
  for (const ir::Step& step : program_.steps) {
    const auto* launched = std::get_if<ir::KernelStep>(&step.action);
    if (!launched) continue;
    std::vector<ir::BufferParameter>& buffers = program_.kernels[launched->kernel].buffers;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      const std::uint32_t slot = launched->buffers[b];
      buffers[b].streaming = buffers[b].writes && !read[slot] && program_.slots[slot].kind == Slot::Kind::result;
    }
  }
}

void Planner::arrange_arena() {
  std::vector<std::uint32_t> slots;
  std::vector<Tenant> tenants;
  const IndexId line = index_.number(64);
  for (std::uint32_t slot = 0; slot < program_.slots.size(); ++slot) {
    if (program_.slots[slot].kind != Slot::Kind::temporary) continue;
    slots.push_back(slot);
    const IndexId exact = index_.mul(program_.slots[slot].elements, index_.number(size_of(program_.slots[slot].type)));
    tenants.push_back({index_.mul(index_.ceil_div(exact, line), line), lives_[slot].first, lives_[slot].last});
  }
  std::vector<std::int64_t> values;
  if (sizes_.size() == program_.symbols) {
    values.resize(index_.size());
    index_.evaluate(sizes_, values);
  }
  const ArenaLayout layout = lay_out(tenants, index_, values);
  for (std::size_t i = 0; i < slots.size(); ++i) program_.slots[slots[i]].arena_offset = layout.offsets[i];
  program_.arena_bytes = layout.bytes;
}

void Planner::run() {
  number_parameters();
  find_lives();
  find_counts();
  for (std::size_t k = 0; k < module_.kernels.size(); ++k) add_kernel(k);
  finish_slots();
  arrange_arena();
  program_.index = std::move(module_.index);
  module_.program = std::move(program_);
}

}  // namespace

Module plan(Module module, const Options& options) {
  Planner(module, options).run();
  module.index = module.program.index;
  module.stage = Stage::steps;
  return module;
}

}  // namespace braze::passes
