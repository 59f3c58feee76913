// Random graphs over the whole op table, compared as tests/fuzz/graph_case.h says. A failure is reduced and saved as a .bz file.
#include <filesystem>

#include "ir/error.h"
#include "tests/catch.h"
#include "tests/fuzz/graph_case.h"

using namespace braze;
using namespace braze::test;

namespace {

constexpr int graphs_in_ci = 240, draws = 5;

GraphCase make_case(const RandomCase& random, std::vector<ir::HostArray> arguments, std::vector<std::int64_t> symbols) {
  GraphCase c;
  c.graph = ir::copy(random.graph());
  c.arguments = std::move(arguments);
  c.symbols = std::move(symbols);
  c.exact = random.exact();
  return c;
}

void run_round(std::uint64_t seed) {
  Choices choices(seed);
  RandomCase random(choices, !choices.chance(30));
  const ir::Graph& graph = random.graph();
  // If the code crashes, this file is what is left.
  const std::string running = save_case(graph, "running-graph", "BRAZE_SEED=" + std::to_string(seed));
  std::vector<ir::HostArray> arguments;
  std::vector<std::int64_t> symbols;
  std::string why;
  try {
    const Comparison comparison(graph, random.exact(), choices.chance(30));
    for (int i = 0; i < draws && why.empty(); ++i)
      if (random.draw(arguments, symbols)) why = comparison.run(arguments, symbols);
  } catch (const std::exception& e) {
    why = e.what();
    if (arguments.size() != graph.parameters().size()) random.draw(arguments, symbols);
  }
  std::filesystem::remove(running);
  if (why.empty()) {
    SUCCEED();
    return;
  }
  const GraphCase reduced = reduce(make_case(random, arguments, symbols));
  const std::string reduced_why = disagreement(reduced);
  const std::string path = save(reduced, "graph-" + std::to_string(seed), why + "\nreduced: " + reduced_why + "\nBRAZE_SEED=" + std::to_string(seed));
  FAIL_CHECK("BRAZE_SEED=" << seed << ": " << why << "\nreduced to " << path << ":\n" << ir::print(reduced.graph) << reduced_why);
}

}  // namespace

TEST_CASE("random graphs: machine code, both interpreters, fused and unfused agree", "[fuzz]") { fuzz("graphs", graphs_in_ci, run_round); }
