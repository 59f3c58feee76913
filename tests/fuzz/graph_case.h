// A graph with arguments: what the graph fuzzer makes, compares, reduces and saves.
//
// Comparison is bit for bit, NaN payloads apart, between machine code and the loop interpreter (each target), fused and unfused, and,
// for graphs made `exact`, the graph interpreter. Exact: floats are summed only where they are small integers, no NaN's sign and no
// sign of a zero among extremes reaches a result. The others sum whatever comes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tests/fuzz/end_to_end.h"
#include "tests/fuzz/fuzz.h"

namespace braze::test {

struct GraphCase {
  ir::Graph graph;
  std::vector<ir::HostArray> arguments;
  std::vector<std::int64_t> symbols;
  bool exact = true;
};

// A random graph with values for its symbols and arguments, as often as asked.
class RandomCase {
 public:
  RandomCase(Choices& choices, bool exact);
  ~RandomCase();
  const ir::Graph& graph() const;
  bool exact() const;
  // False where an op is not defined on the sizes drawn (the maximum of nothing) or they became too large.
  bool draw(std::vector<ir::HostArray>& arguments, std::vector<std::int64_t>& symbols);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The graph compiled in each way that is compared.
class Comparison {
 public:
  // `everywhere`: unfused on each target; else only on the narrowest, which halves the time.
  Comparison(const ir::Graph& graph, bool exact, bool everywhere);
  // What differs, or "".
  std::string run(std::span<const ir::HostArray> arguments, std::span<const std::int64_t> symbols) const;

 private:
  const ir::Graph& graph_;
  bool exact_;
  struct Ways {
    std::string target;
    std::unique_ptr<CompiledGraph> fused, apart;
  };
  std::vector<Ways> ways_;
};

// Compiles and compares; what is thrown counts as a difference.
std::string disagreement(const GraphCase& c);

// The smallest case found that still disagrees: outputs dropped, nodes replaced by parameters or operands, symbols by numbers,
// extents by lesser ones.
using Check = std::function<std::string(const GraphCase&)>;
GraphCase reduce(GraphCase c, Check check = static_cast<std::string (*)(const GraphCase&)>(disagreement));

// The case with its symbols and arguments as comments; returns the path.
std::string save(const GraphCase& c, const std::string& name, const std::string& why);

}  // namespace braze::test
