#include <unistd.h>

#include <cstdio>

#include "ir/error.h"
#include "passes/knobs.h"
#include "passes/passes.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::passes;

namespace {

Module module_of(const std::string& text) { return parse_module(text, "t.bz"); }

const std::string saxpy = R"(braze.ir 1
graph saxpy(%x: f32[n], %y: f32[n], %a: f32[] scalar) {
  %0 = expand %a {shape = [n]} : f32[n]
  %1 = mul %0, %x : f32[n]
  %2 = add %1, %y : f32[n]
  return %2
}
)";

const std::string neg_neg = "braze.ir 1\ngraph f(%x: f32[4]) { %0 = neg %x : f32[4] %1 = neg %0 : f32[4] return %1 }";

// What the hidden test below prints in a process of its own, where BRAZE_SKIP has a value: it is read once.
std::string with_skip(const std::string& skip) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  const std::string command =
      "BRAZE_SKIP=" + skip + " '" + std::string(self, static_cast<std::size_t>(length)) + "' '[skip_child]' 2>&1";
  FILE* child = popen(command.c_str(), "r");
  REQUIRE(child != nullptr);
  std::string output;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, child) != nullptr) output += buffer;
  pclose(child);
  return output;
}

}  // namespace

TEST_CASE("the child of the next test", "[.][skip_child]") {
  std::string told;
  try {
    told = "nodes: " + std::to_string(run_pipeline(module_of(neg_neg), {}, Stage::graph).graph.size());
  } catch (const ValueError& error) {
    told = error.what();
  }
  std::puts(told.c_str());
}

TEST_CASE("BRAZE_SKIP leaves out passes and rules, and names what it cannot skip") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(with_skip(""), ContainsSubstring("nodes: 1"));
  CHECK_THAT(with_skip("simplify,structure_views"), ContainsSubstring("nodes: 3"));
  CHECK_THAT(with_skip("neg-neg"), ContainsSubstring("nodes: 3"));
  CHECK_THAT(with_skip("fuse"), ContainsSubstring("BRAZE_SKIP: 'fuse' leads to stage fused and cannot be skipped"));
  CHECK_THAT(with_skip("nonsense"), ContainsSubstring("BRAZE_SKIP: there is no pass or rule 'nonsense'"));
}

TEST_CASE("the pipeline goes up to the stage asked for, and on from there") {
  std::vector<std::string> ran;
  const Trace trace{[&](std::string_view pass, const Module&, double milliseconds) {
    ran.emplace_back(pass);
    CHECK(milliseconds >= 0);
  }};
  Module module = run_pipeline(module_of(saxpy), {}, Stage::graph, trace);
  CHECK(module.stage == Stage::graph);
  CHECK(ran == std::vector<std::string>{"canonicalize", "simplify", "structure_views", "dead_code"});
  ran.clear();
  module = run_pipeline(std::move(module), {}, Stage::fused, trace);
  CHECK(module.stage == Stage::fused);
  ran.clear();
  module = run_pipeline(std::move(module), {}, Stage::fused, trace);
  CHECK(ran.empty());
  module = run_passes(std::move(module), {}, std::vector<std::string>{"lower"}, trace);
  CHECK(module.stage == Stage::loops);
  CHECK(module.kernels.empty());
  ran.clear();
  module = run_pipeline(std::move(module), {}, Stage::loops, trace);
  CHECK(ran == std::vector<std::string>{"schedule"});
  ran.clear();
  module = run_pipeline(std::move(module), {}, Stage::steps, trace);
  CHECK(ran == std::vector<std::string>{"plan"});
  CHECK(module.stage == Stage::steps);
  CHECK(module.program.kernels.size() == 1);
}

TEST_CASE("each pass says why it stands where it does") {
  Stage last = Stage::graph;
  for (const Pass& pass : pipeline()) {
    CHECK(!pass.why.empty());
    CHECK(pass.leaves >= last);
    last = pass.leaves;
  }
  CHECK(last == Stage::steps);
}

TEST_CASE("named passes run in the order given; wrong names and stages are refused") {
  const Module simplified = run_passes(module_of(saxpy), {}, std::vector<std::string>{"simplify", "canonicalize", "simplify"});
  CHECK(simplified.stage == Stage::graph);
  CHECK_THROWS_WITH(
      run_passes(module_of(saxpy), {}, std::vector<std::string>{"fuse", "inline"}),
      "unknown pass 'inline'; there are canonicalize, simplify, structure_views, dead_code, fuse, lower, schedule, plan");
  CHECK_THROWS_WITH(run_passes(module_of(saxpy), {}, std::vector<std::string>{"lower"}),
                    "the pass 'lower' works at stage fused, and the module is at stage graph");
  CHECK_THROWS_AS(run_passes(module_of(saxpy), {}, std::vector<std::string>{"fuse", "simplify"}), ValueError);
}

TEST_CASE("a fused module is text that compiles on") {
  const Module fused = run_pipeline(module_of(saxpy), {}, Stage::fused);
  const std::string text = print(fused);
  const Module again = parse_module(text);
  CHECK(again.stage == Stage::fused);
  CHECK(again.groups.size() == fused.groups.size());
  CHECK(print(again) == text);
  const Module steps = run_pipeline(parse_module(text), {}), direct = run_pipeline(module_of(saxpy), {});
  CHECK(print(steps) == print(direct));
  CHECK(print(run_pipeline(parse_module(text), {}, Stage::loops)) == print(run_pipeline(module_of(saxpy), {}, Stage::loops)));
}

TEST_CASE("the laws of groups are checked") {
  Module module = run_pipeline(module_of(saxpy), {}, Stage::fused);
  CHECK_NOTHROW(verify(module));
  REQUIRE(module.groups.size() == 1);
  const Group group = module.groups[0];
  module.groups[0].outputs.clear();
  CHECK_THROWS_WITH(verify(module), Catch::Matchers::ContainsSubstring("left in memory by no group"));
  module.groups[0] = group;
  module.groups.insert(module.groups.begin(), Group{"early", {group.nodes.back()}, {}});
  CHECK_THROWS_WITH(verify(module), Catch::Matchers::ContainsSubstring("neither in the group nor in memory"));
  module.groups = {Group{"none", {1000}, {}}};
  CHECK_THROWS_AS(verify(module), InternalError);
}
