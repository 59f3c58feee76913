// The engine: records pending nodes, and turns what is pending into results when a value is needed.
//
// Evaluating takes the mutex for the walk over pending ancestors and for publishing results, not for compiling or running.
// The walk writes canonical bytes: structure, dtypes, ranks and layout classes, never extents, offsets or user scalars.
// Equal bytes are the same Program, found in a bounded memory cache; everything else travels as arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/engine/node.h"
#include "passes/passes.h"
#include "runtime/run.h"

namespace braze::engine {

// ---- recording ----

// Records `op`; infers its types and throws the user's errors. May evaluate a tall operand (see Limits); in an eager scope evaluates
// the result before it returns. Attributes are omitted for ops that take none.
Value record(ir::Op op, std::span<const Value> in, ir::Location location);
Value record(ir::Op op, std::span<const Value> in, ir::Attributes attributes, ir::Location location);
// The same for operands that are needed no more: they are taken over and empty afterwards, which spares counting references.
Value record_taking(ir::Op op, std::span<Value> in, ir::Location location);
// expand and reshape to a type that exists already, without an allocation.
Value record_to_shape(ir::Op op, const Value& in, TypeRef type, ir::Location location);

// A scalar that the user passed: an argument of the Program, unknown to passes. `bits` as in ir::Literal.
Value scalar_argument(ir::Literal value);
// A scalar that a composite's own code writes: visible to passes, and in the key.
Value constant(ir::Literal value);
// An argument of a function being traced: a leaf without memory.
Value placeholder(TypeRef type);
// Memory that exists: dense row-major elements of `type`, from the start of `block`. If its `shared` is set, ops that read it run as
// they are recorded.
Value leaf(TypeRef type, runtime::Block block);
// `value` itself, or a copy made now if it reads memory that the host shares.
Value owned(const Value& value);

// The same value, as a node of its own; what reads it is differentiable or not as told, whatever `value` is. Takes over a reference
// to `gradient`, where there is one.
Value identity(const Value& value, bool differentiable, Gradient* gradient = nullptr);

// Whether this thread marks what it records as differentiable.
bool grad_enabled();
void set_grad_enabled(bool on);

// The public function that is recording, for the names of derivatives: what it records in between is one step, and takes its name;
// 0: that of the op. The outermost function wins.
class FunctionScope {
 public:
  explicit FunctionScope(std::uint8_t name = 0);
  ~FunctionScope();
  FunctionScope(const FunctionScope&) = delete;

 private:
  bool outermost_;
};

// What the node was recorded with, spelled out.
ir::Attributes attributes_of(const Node& node);
// A backward pass is done with these: their operands are kept for evaluating them alone. Operands come before what reads them.
void free_nodes(std::span<Node* const> nodes);

// Called as an observed node dies.
void set_observer(void (*forget)(const Node* node));
void forget_observed(const Node* node);

// ---- evaluating ----

// Makes every value's buffer available. Throws what the evaluation throws; a failed value throws again on each call.
void evaluate(std::span<const Value> values);
// The buffer of an evaluated value.
const runtime::Block& buffer(const Value& value);

// Recording evaluates the tallest pending subtree when one of these is passed. BRAZE_LIMIT_HEIGHT and so on override.
struct Limits {
  std::uint32_t height = 512;
  std::int64_t nodes = 1 << 14;  // recorded by this thread since it evaluated last: bounds wide graphs, which are not tall
  std::int64_t pinned_bytes = std::int64_t{64} << 20;  // evaluated buffers that only pending nodes own
};
Limits& limits();

// The graph that evaluating `values` now would compile, and that graph after a stage's passes.
passes::Module pending_module(std::span<const Value> values);

// ---- the compiled side ----

// How graphs are compiled here and now: host target, numeric options.
passes::Options compile_options(bool fuse);
// Runs the pipeline on `module`, compiles its kernels in parallel and loads them. Slow; holds no lock.
std::shared_ptr<const runtime::Executable> build_executable(passes::Module module, const passes::Options& options);
// A stage of `module`'s compilation as text: passes' stages, or "llvm", "assembly", "cuda", "ptx".
std::string stage_text(passes::Module module, std::string_view stage);
// The names that stage_text knows, in order of compilation.
std::span<const std::string_view> stage_names();

// What one walk over pending nodes finds. Node pointers stay valid as long as the roots are held and in flight.
struct Walk {
  enum class Kind : std::uint8_t { leaf, donated, scalar, constant, operation };
  std::vector<std::uint8_t> key;       // canonical bytes
  std::vector<std::int64_t> numbers;   // every extent, offset and stride that the graph sees as a symbol
  std::vector<std::uint64_t> scalars;  // user scalars, raw bits
  std::vector<Node*> nodes;            // operands first, leaves and scalars included; Node::number indexes it
  std::vector<Kind> kinds;             // of `nodes`
  std::vector<std::uint32_t> uses;     // of `nodes`, by nodes of this walk
  // A result of a node of this walk: index into `nodes` and number of the result.
  static constexpr std::uint32_t code(std::uint32_t node, unsigned result) { return node * ir::max_results + result; }
  static constexpr std::uint32_t node_of(std::uint32_t code) { return code / ir::max_results; }
  static constexpr std::uint32_t result_of(std::uint32_t code) { return code % ir::max_results; }
  // The operands of the operations, one operation after another, as codes. Kept here because another thread's walk may number a
  // shared leaf anew as soon as the mutex is free.
  std::vector<std::uint32_t> operands;
  // Of the operations: the earlier one that looks at the same operand in the same way, and whose numbers therefore serve for both; or
  // itself. So are the places of a tensor that is read twice the same places in the graph, whatever they are in other runs.
  std::vector<std::uint32_t> twins;
  std::vector<std::pair<Node*, unsigned>> outputs;
  std::vector<std::uint32_t> output_numbers;  // of `outputs`, as codes
  Node* busy = nullptr;                       // a node that another thread is evaluating: wait and walk again
  Node* placeholder = nullptr;                // an argument of a function being traced
  void clear();
};

struct WalkOptions {
  bool held_are_outputs = true;  // results that a storage holds are left in memory too
  bool donate = true;            // leaves that nothing else refers to may be overwritten
  bool fuse = true;
};
// The caller holds the engine's mutex. Throws the reason of a failed node.
void walk(std::span<const Value> roots, const WalkOptions& options, Walk& out);
// The same with the mutex taken here, waiting while another thread evaluates what is needed.
void walk_now(std::span<const Value> roots, const WalkOptions& options, Walk& out);
// The graph of a walk; parameters are its leaves and scalars in the order of `nodes`. Extents that some op demands equal share a
// symbol; `sources[i]` numbers the entry of Walk::numbers that symbol i takes its value from. Needs no lock.
struct WalkedGraph {
  ir::Graph graph;
  std::vector<std::uint32_t> sources;
};
WalkedGraph build_graph(const Walk& walk);

// An Executable with what a run must gather from a walk for it.
struct Compiled {
  std::shared_ptr<const runtime::Executable> executable;
  std::vector<std::uint32_t> sources;
};

// A bounded map from canonical bytes to Executables; compiles on a miss, once per key however many threads ask.
std::shared_ptr<const Compiled> find_or_build(const Walk& walk, const WalkOptions& options);
// Gathers buffers, symbols and scalars and runs; `results` has one buffer an output of the walk.
runtime::Failure run(const Compiled& compiled, const Walk& walk, std::span<runtime::Buffer> results);

// `recorded` knows of other threads' ops once these threads evaluate.
struct Statistics {
  std::uint64_t recorded, evaluations, hits, compilations;
};
Statistics statistics();

// Throws what a failure means to the user, naming the recording line. Does nothing for Fault::none.
void throw_failure(const runtime::Failure& failure, const ir::Program& program);

// ---- scopes, per thread ----

bool eager();
void set_eager(bool on);

// While a function is traced (braze::compile), values that depend on its placeholders must not be needed.
class Tracing {
 public:
  Tracing();
  ~Tracing();
};
bool tracing();
// Whether the value can be had, though something is traced: it depends on no placeholder.
bool known(const Value& value);

// BRAZE_EXPLAIN=flush,compile,fuse: why each evaluation, compilation and missed fusion happened. Lines go to the log sink.
enum class Explain : std::uint8_t { flush = 1, compile = 2, fuse = 4 };
bool explains(Explain what);
void log(const std::string& line);
void set_log_sink(std::function<void(const std::string&)> sink);

}  // namespace braze::engine
