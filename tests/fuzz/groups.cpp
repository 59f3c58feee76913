// Kernels of random graphs, as text that somebody edited: read back they compile to what they were, or, put together at random, are
// refused as the user's error or give the same values.
#include <algorithm>
#include <optional>

#include "ir/error.h"
#include "passes/passes.h"
#include "runtime/run.h"
#include "tests/catch.h"
#include "tests/fuzz/graph_case.h"
#include "tests/passes/host_arrays.h"

using namespace braze;
using namespace braze::test;

namespace {

constexpr int rounds_in_ci = 300;

passes::Options options() {
  passes::Options result;
  result.target = ir::target_named("avx2");
  return result;
}

// Joins two groups at random, where the later one stands; or gives one another's node, or takes an output or a node away.
void edit(std::vector<passes::Group>& groups, Choices& choices) {
  const auto one = [&] { return static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(groups.size()))); };
  passes::Group &from = groups[one()], &to = groups[one()];
  const auto join = [](std::vector<ir::NodeId>& into, const std::vector<ir::NodeId>& more) {
    into.insert(into.end(), more.begin(), more.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
  };
  if (const std::int64_t n = choices.below(100); n < 60) {
    if (&from == &to) return;
    passes::Group &early = std::min(&from, &to)[0], &late = std::max(&from, &to)[0];
    join(late.nodes, early.nodes);
    for (const ir::Value output : early.outputs)
      if (std::find(late.outputs.begin(), late.outputs.end(), output) == late.outputs.end()) late.outputs.push_back(output);
    groups.erase(groups.begin() + (&early - groups.data()));
  } else if (n < 75) {
    if (!from.nodes.empty()) join(to.nodes, {choices.pick(from.nodes)});
  } else if (n < 90) {
    if (!to.nodes.empty()) to.outputs.push_back({choices.pick(to.nodes), 0});
  } else if (n < 95) {
    if (to.outputs.size() > 1) to.outputs.erase(to.outputs.begin() + choices.below(static_cast<std::int64_t>(to.outputs.size())));
  } else if (to.nodes.size() > 1) {
    to.nodes.erase(to.nodes.begin() + choices.below(static_cast<std::int64_t>(to.nodes.size())));
  }
}

ir::Program compiled(const std::string& text) { return passes::run_pipeline(passes::parse_module(text), options()).program; }

// What is wrong with `edited` beside `fused`, or ""; nothing where it is refused.
std::optional<std::string> difference(const passes::Module& fused, const std::string& edited, RandomCase& random) {
  std::vector<ir::HostArray> arguments;
  std::vector<std::int64_t> symbols;
  try {
    ir::Program program = compiled(edited);
    if (!random.draw(arguments, symbols)) return "";
    const Outcome wanted = run(fused.graph, *runtime::Executable::interpreted(fused.program), arguments, symbols),
                  found = run(fused.graph, *runtime::Executable::interpreted(std::move(program)), arguments, symbols);
    if (wanted.fault != found.fault) return "they disagree about a fault";
    for (std::size_t r = 0; r < wanted.results.size(); ++r)
      if (!same_bits(wanted.results[r], found.results[r]))
        return fmt::format("result {}: {}", r, first_difference(found.results[r], wanted.results[r]));
    return "";
  } catch (const Error&) {
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

struct Count {
  int accepted = 0, refused = 0;
};

void run_round(std::uint64_t seed, Count& count) {
  INFO("BRAZE_SEED=" << seed);
  Choices choices(seed);
  RandomCase random(choices, false);
  const auto run_to = [&](passes::Stage stage) {
    passes::Module module;
    module.graph = ir::copy(random.graph());
    return passes::run_pipeline(std::move(module), options(), stage);
  };
  passes::Module module = run_to(passes::Stage::fused);
  module.notes.clear();
  if (module.groups.empty()) return;
  const std::string text = print(module);
  INFO(text);
  CHECK(print(passes::parse_module(text)) == text);
  const passes::Module steps = run_to(passes::Stage::steps);
  CHECK(ir::print(compiled(text)) == ir::print(steps.program));
  for (int i = 0; i < 3 && !module.groups.empty(); ++i) {
    edit(module.groups, choices);
    const std::string changed = print(module);
    const std::optional<std::string> why = difference(steps, changed, random);
    ++(why ? count.accepted : count.refused);
    if (why && !why->empty()) FAIL_CHECK("BRAZE_SEED=" << seed << ": " << *why << "\n" << changed);
  }
}

}  // namespace

TEST_CASE("random kernels as text: read back they are the same; edited they are refused or give the same values", "[fuzz]") {
  Count count;
  fuzz("kernels", rounds_in_ci, [&](std::uint64_t seed) { run_round(seed, count); });
  CHECK(count.accepted > 0);
  CHECK(count.refused > 0);
}
