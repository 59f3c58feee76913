// Random graphs over the whole op table, compared as tests/fuzz/graph_case.h says. A failure is reduced and saved as a .bz file.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

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
  INFO("BRAZE_SEED=" << seed);  // what Catch prints if the code crashes
  Choices choices(seed);
  RandomCase random(choices, !choices.chance(30));
  const ir::Graph& graph = random.graph();
  // If the code crashes, this file is what is left.
  const std::string running = save_case(graph, "running-" + std::to_string(getpid()), "BRAZE_SEED=" + std::to_string(seed));
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
  const std::string path =
      save(reduced, "graph-" + std::to_string(seed), why + "\nreduced: " + reduced_why + "\nBRAZE_SEED=" + std::to_string(seed));
  FAIL_CHECK("BRAZE_SEED=" << seed << ": " << why << "\nreduced to " << path << ":\n" << ir::print(reduced.graph) << reduced_why);
}

}  // namespace

TEST_CASE("random graphs: machine code, both interpreters, fused and unfused agree", "[fuzz]") {
  fuzz("graphs", graphs_in_ci, run_round);
}

TEST_CASE("random graphs cover the op table, and most draws of their sizes are defined") {
  std::set<ir::Op> seen;
  std::set<DType> types;
  int drawn = 0, tried = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Choices choices(seed);
    RandomCase random(choices, seed % 3 != 0);
    for (ir::NodeId id : ir::postorder(random.graph(), random.graph().results)) {
      seen.insert(random.graph()[id].op);
      for (const ir::Type& type : random.graph()[id].out) types.insert(type.dtype);
    }
    std::vector<ir::HostArray> arguments;
    std::vector<std::int64_t> symbols;
    ++tried;
    drawn += random.draw(arguments, symbols);
  }
  for (int i = 0; i < ir::op_count; ++i) {
    const ir::AttributeKind kind = ir::info(static_cast<ir::Op>(i)).attributes;
    if (kind >= ir::AttributeKind::Draw || static_cast<ir::Op>(i) == ir::Op::eig)
      continue;  // these the graph's interpreter does not compute
    INFO(ir::name(static_cast<ir::Op>(i)));
    CHECK(seen.count(static_cast<ir::Op>(i)) == 1);
  }
  CHECK(types.size() == dtype_count);
  CHECK(drawn > tried * 2 / 3);
}

TEST_CASE("a failing graph is reduced to the op that fails") {
  // As if tanh were wrong on results of more than four elements.
  const auto check = [](const GraphCase& c) -> std::string {
    for (ir::NodeId id : ir::postorder(c.graph, c.graph.results))
      if (c.graph[id].op == ir::Op::tanh) {
        ir::Graph tanh = ir::copy(c.graph);
        tanh.results = {{id, 0}};
        if (ir::interpret(tanh, c.arguments, c.symbols)[0].elements() > 4) return "wrong";
      }
    return "";
  };
  int reduced = 0;
  for (std::uint64_t seed = 0; seed < 2000 && reduced < 5; ++seed) {
    Choices choices(seed);
    RandomCase random(choices, true);
    GraphCase c;
    if (!random.draw(c.arguments, c.symbols)) continue;
    c.graph = ir::copy(random.graph());
    if (ir::postorder(c.graph, c.graph.results).size() < 6 || check(c).empty()) continue;
    const GraphCase least = reduce(std::move(c), check);
    INFO(ir::print(least.graph));
    CHECK(ir::postorder(least.graph, least.graph.results).size() == 2);
    CHECK(least.arguments.at(0).elements() < 12);
    ++reduced;
  }
  CHECK(reduced == 5);
}
