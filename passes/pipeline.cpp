#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "ir/error.h"
#include "passes/knobs.h"
#include "passes/passes.h"

namespace braze::passes {
namespace {

constexpr Pass table[] = {
    {"canonicalize", canonicalize, Stage::graph, "first: constants on the right, so that a rule needs one spelling"},
    {"simplify", simplify, Stage::graph, "before fuse: fewer nodes, none that only copies"},
    {"structure_views", structure_views, Stage::graph, "after simplify, whose rules let views meet the stores they read"},
    {"dead_code", dead_code, Stage::graph, "after rules, whose leavings nobody reads: fuse counts readers"},
    {"fuse", fuse, Stage::fused, "from here a node belongs to exactly one kernel, or is computed again in each that reads it"},
    {"lower", lower, Stage::loops, "shapes become bounds, views become index arithmetic"},
    {"schedule", schedule, Stage::loops, "the target enters here and not before"},
    {"plan", plan, Stage::steps, "last: only now is every slot known, partial results of reductions included"},
};

// The stage that row `i` needs.
Stage needs(std::size_t i) { return i == 0 ? Stage::graph : table[i - 1].leaves; }

// Stage::loops has two halves: nests before schedule, kernels after it.
bool is_done(std::size_t i, const Module& module) {
  if (table[i].leaves != module.stage) return table[i].leaves < module.stage;
  return module.stage != Stage::graph && (table[i].run != &schedule || module.kernels.size() >= module.nests.size());
}

Module run(std::size_t i, Module module, const Options& options, const Trace& trace) {
  const Pass& pass = table[i];
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  module = pass.run(std::move(module), options);
  const double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  invariant(module.stage == pass.leaves, "the pass {} left stage {}", pass.name, name(module.stage));
  if (knobs().verify) verify(module);
  if (knobs().time) fmt::print(stderr, "braze: {:<16} {:9.3f} ms  {}\n", pass.name, milliseconds, module.graph.name);
  if (trace.after) trace.after(pass.name, module, milliseconds);
  return module;
}

std::size_t row_of(std::string_view pass_name) {
  std::string known;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (table[i].name == pass_name) return i;
    known += (i == 0 ? "" : ", ") + std::string(table[i].name);
  }
  fail<ValueError>("unknown pass '{}'; there are {}", pass_name, known);
}

}  // namespace

std::string_view name(Stage stage) {
  constexpr std::string_view names[] = {"graph", "fused", "loops", "steps"};
  return names[static_cast<int>(stage)];
}

std::span<const Pass> pipeline() { return table; }

Module run_pipeline(Module module, const Options& options, Stage until, const Trace& trace) {
  if (knobs().verify) verify(module);
  for (std::size_t i = 0; i < std::size(table) && table[i].leaves <= until; ++i) {
    if (is_done(i, module)) continue;
    if (table[i].leaves == Stage::graph && knobs().skips(table[i].name)) continue;
    module = run(i, std::move(module), options, trace);
  }
  return module;
}

Module run_passes(Module module, const Options& options, std::span<const std::string> names, const Trace& trace) {
  for (const std::string& pass : names) row_of(pass);  // a misspelt name is told before work is done
  for (const std::string& pass : names) {
    const std::size_t i = row_of(pass);
    require<ValueError>(module.stage == needs(i) && !(module.stage != Stage::graph && is_done(i, module)),
                        "the pass '{}' works at stage {}, and the module is at stage {}", pass, name(needs(i)), name(module.stage));
    module = run(i, std::move(module), options, trace);
  }
  return module;
}

}  // namespace braze::passes
