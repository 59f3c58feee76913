#include <algorithm>
#include <memory>
#include <utility>

#include "frontend/engine/engine.h"
#include "frontend/engine/failures.h"
#include "frontend/engine/host.h"
#include "frontend/engine/state.h"
#include "frontend/engine/tape.h"
#include "frontend/engine/thread_state.h"
#include "ir/error.h"

namespace braze::engine {

namespace {

// Marks a walk's operations as being evaluated by this thread; if the evaluation does not publish, they are pending again.
class Flight {
 public:
  explicit Flight(const Walk& walk) : walk_(walk) { set(State::in_flight); }
  ~Flight() {
    if (!landed_) give_up();
  }

  void give_up() {
    std::lock_guard lock(engine_state().mutex);
    set(State::pending);
    engine_state().published.notify_all();
    landed_ = true;
  }

  void publish(std::span<runtime::Buffer> results) {
    std::vector<Value> held;  // outlives the lock: what dies may own what a user wrote
    std::lock_guard lock(engine_state().mutex);
    set(State::pending);
    for (std::size_t i = 0; i < walk_.outputs.size(); ++i)
      walk_.outputs[i].first->buffers[walk_.outputs[i].second] = std::move(results[i].block);
    for (std::size_t i = 0; i < walk_.nodes.size(); ++i)
      if (walk_.kinds[i] == Walk::Kind::operation) walk_.nodes[i]->mark_as(swallowed);
    // Completing a node lets its operands go, and with them perhaps another output, which was left in memory for a backward pass that
    // nobody can ask for any more.
    if (walk_.outputs.size() > 1)
      for (const auto& [node, result] : walk_.outputs) {
        node->references.fetch_add(1, std::memory_order_relaxed);
        held.push_back(Value::adopt(node, result));
      }
    for (const auto& [node, result] : walk_.outputs) complete(node);
    engine_state().published.notify_all();
    landed_ = true;
  }

  void fail(const std::exception_ptr& why) {
    std::lock_guard lock(engine_state().mutex);
    if (!landed_) set(State::pending);
    for (const auto& [node, result] : walk_.outputs) {
      if (node->state.load(std::memory_order_relaxed) != State::pending) continue;  // after giving up it may be another thread's
      remember_failure(node, why);
      node->state.store(State::failed, std::memory_order_release);
    }
    engine_state().published.notify_all();
    landed_ = true;
  }

 private:
  void set(State state) {
    for (std::size_t i = 0; i < walk_.nodes.size(); ++i)
      if (walk_.kinds[i] == Walk::Kind::operation) walk_.nodes[i]->state.store(state, std::memory_order_release);
  }

  // A node with several results is evaluated when all are in memory.
  static void complete(Node* node) {
    for (unsigned r = 0; r < node->result_count; ++r)
      if (!node->buffers[r]) return;
    if (node->evaluated()) return;
    node->state.store(State::evaluated, std::memory_order_release);
    if (!node->keeps_operands()) node->sever();
  }

  const Walk& walk_;
  bool landed_ = false;
};

// A walk whose vectors keep their memory from one evaluation of a thread to the next. Taken while it is in use, since evaluating may
// record (a host executor, a log sink), and recording may evaluate.
class ReusedWalk {
 public:
  ReusedWalk() : walk_(std::exchange(spare(), {})) {
    if (!walk_) walk_ = std::make_unique<Walk>();
  }
  ~ReusedWalk() {
    if (walk_->nodes.size() > most_kept) return;
    walk_->clear();
    spare() = std::move(walk_);
  }
  ReusedWalk(const ReusedWalk&) = delete;
  Walk& operator*() { return *walk_; }

 private:
  static constexpr std::size_t most_kept = 1024;
  static std::unique_ptr<Walk>& spare() {
    thread_local std::unique_ptr<Walk> walk;
    return walk;
  }
  std::unique_ptr<Walk> walk_;
};

bool all_evaluated(std::span<const Value> values) {
  return std::all_of(values.begin(), values.end(), [](const Value& v) { return v->evaluated(); });
}

// Walks until no node is in another thread's hands. Returns false when everything is evaluated already.
bool walk_when_free(std::unique_lock<std::mutex>& lock, std::span<const Value> values, const WalkOptions& options, Walk& out) {
  for (;;) {
    if (all_evaluated(values)) return false;
    walk(values, options, out);
    if (!out.busy) break;
    engine_state().published.wait(lock);
  }
  if (out.placeholder && thread_state.mapping_depth > 0)
    fail<Error>(
        "vmap: It looks like you're calling .item() on a Tensor, or using a Tensor in some data-dependent control flow or as the "
        "size of a "
        "result. We don't support vmap over that, please try to rewrite what you're doing with other operations. Needed here: {}",
        values.empty() ? std::string() : ir::text(values[0]->location()));
  if (out.placeholder) {
    value_needed_in_trace() =
        fmt::format("a value is needed while a function is being traced; braze::compile can only record. Needed here: {}",
                    values.empty() ? std::string() : ir::text(values[0]->location()));
    fail<Error>("{}", value_needed_in_trace());
  }
  return true;
}

void evaluate_all(std::span<const Value> values, const WalkOptions& options);

// After a joint evaluation faulted: each result by itself, so that only those fail that need the fault. Throws the first failure.
void evaluate_one_by_one(const Walk& joint) {
  std::vector<Value> outputs;
  for (const auto& [node, result] : joint.outputs) {
    node->references.fetch_add(1, std::memory_order_relaxed);
    outputs.push_back(Value::adopt(node, result));
  }
  std::exception_ptr first;
  for (const Value& output : outputs) {
    try {
      evaluate_all({&output, 1}, {.held_are_outputs = false, .donate = false, .fuse = !eager()});
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

// After an index was out of range: throws what the check says that it belonged to, if it was one. The flight was given up.
void throw_complaint(const Walk& found) {
  for (std::size_t i = 0; i < found.nodes.size(); ++i) {
    Node* node = found.nodes[i];
    const char* text = found.kinds[i] == Walk::Kind::operation ? complaint(node) : nullptr;
    if (!text) continue;
    Value index;
    {
      std::lock_guard lock(engine_state().mutex);
      if (node->in()[0]) index = node->in()[0];
    }
    if (!index) continue;
    evaluate_all({&index, 1}, {.held_are_outputs = false, .donate = false, .fuse = !eager()});
    const auto* numbers = reinterpret_cast<const std::int64_t*>(buffer(index).data());
    std::int64_t count = 1;
    for (const ir::Extent& e : index.type().shape) count *= e.number();
    require(std::all_of(numbers, numbers + count, [](std::int64_t n) { return n == 0; }), "{}{}", text,
            node->file ? fmt::format(" (recorded at {})", ir::text(node->location())) : "");
  }
}

std::int64_t kernels_of(const ir::Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const ir::Step& step) { return std::holds_alternative<ir::KernelStep>(step.action); });
}

void evaluate_all(std::span<const Value> values, const WalkOptions& options) {
  counters().recorded.fetch_add(static_cast<std::uint64_t>(std::exchange(thread_state.recorded_since_evaluation, 0)),
                                std::memory_order_relaxed);
  ReusedWalk reused;
  Walk& found = *reused;
  std::unique_lock lock(engine_state().mutex);
  if (!walk_when_free(lock, values, options, found)) return;
  Flight flight(found);
  lock.unlock();
  counters().evaluations.fetch_add(1, std::memory_order_relaxed);
  const std::shared_ptr<const Compiled> compiled = find_or_build(found, options);
  if (explains(Explain::flush))
    log(fmt::format("flush: a value is needed: {} pending ops, {} results, {} kernels", found.nodes.size(), found.outputs.size(),
                    kernels_of(compiled->executable->program())));
  std::vector<runtime::Buffer> results(found.outputs.size());
  const runtime::Failure failure = run(*compiled, found, results);
  if (failure.fault == ir::Fault::none) return flight.publish(results);
  if (failure.fault == ir::Fault::stopped || found.outputs.size() == 1) {
    try {
      if (failure.fault == ir::Fault::index_out_of_range) {
        flight.give_up();
        throw_complaint(found);
      }
      throw_failure(failure, compiled->executable->program());
    } catch (...) {
      // What was stopped may be evaluated again; what is wrong stays wrong.
      if (failure.fault != ir::Fault::stopped) flight.fail(std::current_exception());
      throw;
    }
  }
  flight.give_up();
  evaluate_one_by_one(found);
}

}  // namespace

EngineState& engine_state() {
  static auto* instance = new EngineState;
  return *instance;
}

void evaluate(std::span<const Value> values) {
  if (all_evaluated(values)) return;
  std::vector<Value> pending;
  for (const Value& v : values)
    if (!v->evaluated()) pending.push_back(v);
  WalkOptions options;
  options.fuse = !eager();
  const HostScope host;
  evaluate_all(pending, options);
}

void free_nodes(std::span<Node* const> nodes) {
  std::vector<Value> dropped;  // outlives the lock: what dies may own what a user wrote
  std::lock_guard lock(engine_state().mutex);
  for (Node* node : nodes) {
    node->mark_as(Node::freed);
    if (!node->evaluated()) continue;
    for (Value& v : node->in()) dropped.push_back(std::move(v));
  }
}

const runtime::Block& buffer(const Value& value) {
  invariant(value->evaluated(), "the buffer of {} is asked for before it is evaluated", ir::name(value->op));
  return value->buffers[value.result()];
}

runtime::Failure run(const Compiled& compiled, const Walk& walk, std::span<runtime::Buffer> results) {
  std::vector<runtime::Buffer> inputs;
  for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
    if (walk.kinds[i] != Walk::Kind::leaf && walk.kinds[i] != Walk::Kind::donated) continue;
    for (unsigned r = 0; r < walk.nodes[i]->result_count; ++r) {
      const runtime::Block& block = walk.nodes[i]->buffers[r];
      inputs.push_back({block, block.data()});
    }
  }
  std::vector<std::int64_t> symbols;
  symbols.reserve(compiled.sources.size());
  for (const std::uint32_t source : compiled.sources) symbols.push_back(walk.numbers[source]);
  return compiled.executable->run(inputs, symbols, walk.scalars, results);
}

void walk_now(std::span<const Value> roots, const WalkOptions& options, Walk& out) {
  std::unique_lock lock(engine_state().mutex);
  while (walk(roots, options, out), out.busy) engine_state().published.wait(lock);
}

bool known(const Value& value) {
  if (!tracing() || value->evaluated()) return true;
  Walk found;
  walk_now({&value, 1}, {.donate = false}, found);
  return found.placeholder == nullptr;
}

passes::Module pending_module(std::span<const Value> values) {
  Walk found;
  passes::Module module;
  // Nothing marks these nodes as in flight, so the mutex keeps them pending until the graph is built.
  std::unique_lock lock(engine_state().mutex);
  while (walk(values, {.donate = false}, found), found.busy) engine_state().published.wait(lock);
  module.graph = build_graph(found).graph;
  return module;
}

namespace {

// A kernel reports no values: its name says which index it was.
std::string bounds_of(const runtime::Failure& failure, const ir::Program& program) {
  if (failure.step >= program.steps.size()) return "";
  const auto* launched = std::get_if<ir::KernelStep>(&program.steps[failure.step].action);
  return launched ? fmt::format(" in {}", program.kernels[launched->kernel].name) : "";
}

}  // namespace

void throw_failure(const runtime::Failure& failure, const ir::Program& program) {
  if (failure.fault == ir::Fault::none) return;
  const std::string& line = failure.step < program.steps.size() ? program.steps[failure.step].line : std::string();
  const std::string where = line.empty() ? "" : fmt::format(" (recorded at {})", line);
  switch (failure.fault) {
    case ir::Fault::none:
      return;
    case ir::Fault::division_by_zero:
      fail<Error>("ZeroDivisionError: integer division or modulo by zero{}", where);
    case ir::Fault::index_out_of_range:
      fail<IndexError>("index out of bounds{}{}", bounds_of(failure, program), where);
    case ir::Fault::refused:
      fail<Error>("{}{}", failure.message, where);
    case ir::Fault::not_decomposed:
      fail<LinAlgError>("{}{}", failure.message, where);
    case ir::Fault::stopped:
      fail<Error>("evaluation was stopped{}", where);
  }
}

Statistics statistics() {
  const Counters& c = counters();
  const auto recent = static_cast<std::uint64_t>(thread_state.recorded_since_evaluation);
  return {c.recorded.load() + recent, c.evaluations.load(), c.hits.load(), c.compilations.load()};
}

}  // namespace braze::engine
