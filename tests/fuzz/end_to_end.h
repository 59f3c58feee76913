// A graph through the whole compiler on one target: machine code against the loop interpreter bit for bit, and against the graph's own
// interpreter within each op's bound. Inputs end at a page that nobody may touch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/target.h"
#include "runtime/run.h"

namespace braze::test {

// What a run gives: a fault, or the results.
struct Outcome {
  ir::Fault fault = ir::Fault::none;
  std::vector<ir::HostArray> results;
};

// Arguments follow the graph's parameters; none is changed.
Outcome run(const ir::Graph& graph, const runtime::Executable& executable, std::span<const ir::HostArray> arguments,
            std::span<const std::int64_t> symbols);

// Through every pass and the runtime's routines, kernels by the loops' interpreter: for graphs too small to pay for LLVM. A graph is
// compiled once, however often it is run.
Outcome run_whole(const ir::Graph& graph, std::span<const ir::HostArray> arguments, std::span<const std::int64_t> symbols);

class CompiledGraph {
 public:
  CompiledGraph(const ir::Graph& graph, const ir::CpuTarget& target, bool fuse = true);

  Outcome run(std::span<const ir::HostArray> arguments, std::span<const std::int64_t> symbols) const {
    return test::run(graph_, *machine_, arguments, symbols);
  }
  Outcome interpret(std::span<const ir::HostArray> arguments, std::span<const std::int64_t> symbols) const {
    return test::run(graph_, *interpreted_, arguments, symbols);
  }

 private:
  const ir::Graph& graph_;
  std::shared_ptr<const runtime::Executable> machine_, interpreted_;
};

// The widest target of this machine and, where that is not it, AVX2.
std::vector<ir::CpuTarget> tested_targets();

// What differs, or "" where all agree: machine code, loop interpreter and (within `tolerance` of each result's greatest magnitude; 0: the
// same bits, NaN payloads apart) graph interpreter.
std::string disagreement(const ir::Graph& graph, const CompiledGraph& compiled, std::span<const ir::HostArray> arguments,
                         std::span<const std::int64_t> symbols, double tolerance = 0);

// Where two arrays differ first, in words.
std::string first_difference(const ir::HostArray& a, const ir::HostArray& b);

// A .bz file with the graph and its arguments' seed, for a person to look at; returns the path.
std::string save_case(const ir::Graph& graph, const std::string& name, const std::string& why);

}  // namespace braze::test
