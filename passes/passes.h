// The compiler's middle: a graph goes in, a Program comes out. A pass is a pure function on Module, one a file; pipeline.cpp
// names their order and why.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/target.h"

namespace braze::passes {

enum class Stage : std::uint8_t { graph, fused, loops, steps };
std::string_view name(Stage stage);

struct Options {
  std::variant<ir::CpuTarget, ir::CudaTarget> target;
  bool fast_math = false;                              // rules that change bits may run
  bool fuse = true;                                    // false: one kernel an op, as eager execution does
  std::int64_t group_nodes = 256, group_buffers = 24;  // what one kernel may hold
  std::vector<std::int64_t> sizes;                     // values of the symbols that the plan of memory is best for; none: unknown
};

// The nodes that one kernel computes, operands first, and what it must leave in memory. Inputs are what the nodes read from
// outside the group.
struct Group {
  std::string name;  // by what it does: "mul_add_tanh_sum"
  std::vector<ir::NodeId> nodes;
  std::vector<ir::Value> outputs;
};

// Why two nodes are not in one kernel, or something else that `explain` prints.
struct Note {
  ir::NodeId producer, consumer;
  std::string reason;  // "exp is computed twice if fused: 2 users read it 3 times"
};

// One kernel's loops with what its buffers, sizes and scalars stand for in the graph. Filled by lower and schedule.
struct Lowered {
  std::uint32_t group;  // Nest::group
  ir::Kernel loops;
  std::vector<ir::Value> buffers;      // a graph value (or Temporary) each, in the order of loops.buffers
  std::vector<ir::IndexId> sizes;      // in the order of loops.sizes
  std::vector<std::uint32_t> scalars;  // parameter numbers
  ir::IndexId extent = 0, work = 0;    // see ir::KernelStep
  std::vector<ir::KernelPhase> then{};
  bool call = false;  // no loops, but Nest::routine's call
};

// Memory that a schedule needs between two kernels of one group, such as a reduction's partial results. In Lowered::buffers
// it is the value {temporary_base + its number, 0}.
struct Temporary {
  DType type;
  ir::IndexId elements;
};
inline constexpr ir::NodeId temporary_base = ir::NodeId{1} << 31;

struct Nest;  // passes/nest.h: a group after lowering and before scheduling

struct Module {
  Stage stage = Stage::graph;
  ir::Graph graph;
  std::vector<Group> groups;      // from Stage::fused on, in an order in which they can run
  bool groups_from_text = false;  // somebody may have edited them: what no kernel can hold is that one's error
  std::vector<Note> notes;
  ir::IndexTable index;                            // from Stage::loops on
  std::vector<std::shared_ptr<const Nest>> nests;  // after lower: one a group, or one a part of a concat
  std::vector<Lowered> kernels;                    // after schedule; one or a few a nest, in the nests' order
  std::vector<Temporary> temporaries;              // after schedule
  ir::Program program;                             // at Stage::steps
};

using PassFunction = Module (*)(Module, const Options&);

struct Pass {
  std::string_view name;
  PassFunction run;
  Stage leaves;          // the module's stage afterwards
  std::string_view why;  // why it stands there
};
std::span<const Pass> pipeline();

// Graph to graph. Each needs and leaves Stage::graph, keeps every result's type and bits, and never adds nodes but cheaper ones.
Module canonicalize(Module module, const Options& options);     // add %c, %x -> add %x, %c: one spelling a rule
Module simplify(Module module, const Options& options);         // the rules of passes/simplify.cpp, to a fixed point
Module structure_views(Module module, const Options& options);  // view %s {offset = 0, strides = [1, n]} -> permute (reshape %s)
Module dead_code(Module module, const Options& options);        // rebuilds the graph from its results
// Stage::graph -> Stage::fused: every node but parameters, constants and scalars' casts belongs to exactly one group, or is recomputed
// in each group that reads it.
Module fuse(Module module, const Options& options);
// Stage::fused -> Stage::loops: shapes become bounds, views become index arithmetic, axes collapse.
Module lower(Module module, const Options& options);
// Stage::loops: the target enters here and not before.
Module schedule(Module module, const Options& options);
// Stage::loops -> Stage::steps: order, slots, in-place stores, one arena.
Module plan(Module module, const Options& options);

// What a run of the pipeline reports. BRAZE_SKIP=name,... skips graph-stage passes and rules of simplify; BRAZE_VERIFY=1 (always
// on in debug builds) verifies after each pass; BRAZE_TIME=1 prints what each took to stderr.
struct Trace {
  std::function<void(std::string_view pass, const Module&, double milliseconds)> after;
};
// Runs the table from module.stage to `until` (inclusive of the passes that leave it).
Module run_pipeline(Module module, const Options& options, Stage until = Stage::steps, const Trace& trace = {});
// Named passes in the order given, for `braze opt`. Throws ValueError naming an unknown pass and those there are.
Module run_passes(Module module, const Options& options, std::span<const std::string> names, const Trace& trace = {});

// The laws of the module's stage: the graph's; groups hold what they read or find it in memory; the kernels'. Throws InternalError.
void verify(const Module& module);

// The stage's text: graph, groups as blocks, kernels, or the program. Stages graph and fused parse back.
std::string print(const Module& module);
Module parse_module(std::string_view text, std::string_view file = "<text>");

}  // namespace braze::passes
