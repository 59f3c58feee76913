// Runs Programs on host arrays with the loop interpreter, and checks what the pipeline makes of a graph against the graph's
// own interpreter. Every buffer is bounds-checked, fresh memory is filled with a pattern, and parallel loops run in several ranges.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/passes.h"

namespace braze::test {

// Arguments follow the graph's parameters; donated ones may be overwritten.
std::vector<ir::HostArray> run_program(const ir::Program& program, const ir::Graph& graph, std::span<const ir::HostArray> arguments,
                                       std::span<const std::int64_t> symbols);

struct Check {
  std::map<std::string, std::int64_t> symbols;  // by name; all others are 1
  std::uint64_t seed = 1;
  double tolerance = 0;   // relative to the greatest magnitude of each result; 0: bit for bit (NaNs are equal)
  bool positive = false;  // arguments
  bool integers = false;  // arguments: few and small
};
passes::Options cpu_options(bool fuse = true);
// Fused and unfused, on vectors of 16, 32 and 64 bytes: all equal the graph's interpreter within the tolerance, and each other bit for
// bit. Returns the fused module.
passes::Module check_graph(const std::string& text, const Check& check = {});
passes::Module check_graph(const ir::Graph& graph, const Check& check = {});

std::vector<ir::HostArray> random_arguments(const ir::Graph& graph, const Check& check);
ir::Graph copy_graph(const ir::Graph& graph);

}  // namespace braze::test
