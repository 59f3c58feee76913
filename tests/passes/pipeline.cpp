#include <unistd.h>

#include <cstdio>

#include "ir/error.h"
#include "passes/knobs.h"
#include "passes/passes.h"
#include "tests/catch.h"
#include "tests/passes/host_arrays.h"
#include "tests/passes/run_program.h"

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
  CHECK_THROWS_WITH(verify(module), Catch::Matchers::ContainsSubstring("which nothing that it puts out needs"));
  module.groups[0] = group;
  module.groups.insert(module.groups.begin(), Group{"early", {group.nodes.back()}, {}});
  CHECK_THROWS_WITH(verify(module), Catch::Matchers::ContainsSubstring("neither in the kernel nor put out by an earlier one"));
  module.groups = {};
  CHECK_THROWS_WITH(verify(module), Catch::Matchers::ContainsSubstring("is put out by no kernel"));
  module.groups = {Group{"none", {1000}, {}}};
  CHECK_THROWS_AS(verify(module), InternalError);
}

TEST_CASE("a reshape of what is in memory stands outside kernels and reads back") {
  const std::string text = R"(braze.ir 1
graph f(%x: f32[n], m: index, k: index) {
  %0 = reshape %x {shape = [m, k]} : f32[m, k]
  %1 = exp %0 : f32[m, k]
  %2 = sum %1 {dims = [1]} : f32[m]
  %3 = reshape %1 {shape = [n]} : f32[n]
  %4 = sum %3 {dims = [0]} : f32[]
  return %2, %4, %3
})";
  const std::string fused = print(run_pipeline(module_of(text), {}, Stage::fused));
  CHECK(print(run_pipeline(parse_module(fused), {})) == print(run_pipeline(module_of(text), {})));
  CHECK_THROWS_AS(parse_module(R"(braze.ir 1
graph f(%x: f32[n], m: index, k: index) {
  kernel exp -> %1 {
    %0 = exp %x : f32[n]
    %1 = neg %0 : f32[n]
  }
  %2 = reshape %0 {shape = [m, k]} : f32[m, k]
  return %1, %2
})"),
                  ParseError);
}

TEST_CASE("kernels that fusion would not make give the same values") {
  // Columns, and the only row there is, wait for a reduction and are read again.
  const Module module = run_pipeline(parse_module(R"(braze.ir 1
graph f(%x: i32[n, m], %y: i32[l]) {
  kernel a -> %2, %3 {
    %0 = max %x {dims = [0]} : i32[m]
    %1 = expand %0 {shape = [n, m]} : i32[n, m]
    %2 = sub %x, %1 : i32[n, m]
    %3 = sum %2 {dims = [0]} : i64[m]
  }
  kernel b -> %6, %7 {
    %4 = max %y {dims = [0]} : i32[]
    %5 = expand %4 {shape = [l]} : i32[l]
    %6 = sub %y, %5 : i32[l]
    %7 = min %6 {dims = [0]} : i32[]
  }
  return %2, %3, %6, %7
})"),
                                     test::cpu_options());
  CHECK(module.program.kernels.size() == 2);
  const std::int64_t symbols[] = {300, 70, 20000};
  const auto arguments = test::random_arguments(module.graph, {.symbols = {{"n", 300}, {"m", 70}, {"l", 20000}}, .integers = true});
  const auto wanted = ir::interpret(module.graph, arguments, symbols);
  auto found = test::run_program(module.program, module.graph, arguments, symbols);
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    found[r].sizes = wanted[r].sizes;
    CHECK(test::same_bits(found[r], wanted[r]));
  }
}

TEST_CASE("groups that no kernel can hold are the error of who wrote them") {
  struct Wrong {
    std::string body, says;
  };
  // Each on %x: f32[n, m], %y: f32[n], %q: f32[m, m] and a scalar %s; m * m elements are k.
  for (const Wrong& wrong : {
           Wrong{R"(kernel a -> %1, %2 {
    %0 = exp %x : f32[n, m]
    %1 = sum %0 {dims = [0]} : f32[m]
    %2 = sum %0 {dims = [1]} : f32[n]
  }
  return %1, %2)",
                 "kernel a: sum and sum reduce other axes"},
           Wrong{R"(kernel a -> %1, %2 {
    %0 = exp %q : f32[m, m]
    %1 = sum %0 {dims = [0]} : f32[m]
    %2 = sum %0 {dims = [1]} : f32[m]
  }
  return %1, %2)",
                 "reduce other axes"},
           Wrong{R"(kernel a -> %1, %2 {
    %0 = exp %x : f32[n, m]
    %1 = exp %y : f32[n]
    %2 = store %1, %1 {offset = 0, sizes = [n], strides = [1]} : f32[n]
  }
  return %1, %2)",
                 "kernel a: store writes over (exp : f32[n]), which must be in memory before"},
           Wrong{R"(kernel a -> %0, %1 {
    %0 = exp %x : f32[n, m]
    %1 = exp %y : f32[n]
  }
  return %0, %1)",
                 "kernel a: a value of shape [n] has other elements than the rest"},
           Wrong{R"(kernel a -> %2 {
    %0 = sum %x {dims = [1]} : f32[n]
    %1 = flip %0 {dims = [0]} : f32[n]
    %2 = exp %1 : f32[n]
  }
  return %2)",
                 "the result of sum is read at another row"},
           Wrong{R"(kernel a -> %1 {
    %0 = dot %q, %q : f32[m, m]
    %1 = sum %0 {dims = [1]} : f32[m]
  }
  return %1)",
                 "kernel a holds a dot and a reduction"},
           Wrong{R"(kernel a -> %1 {
    %0 = dot %q, %q : f32[m, m]
    %1 = dot %0, %q : f32[m, m]
  }
  return %1)",
                 "kernel a holds more than one dot"},
           Wrong{R"(kernel a -> %1 {
    %0 = dot %q, %q : f32[m, m]
    %1 = permute %0 {order = [1, 0]} : f32[m, m]
  }
  return %1)",
                 "dot is read at another element"},
           Wrong{R"(kernel a -> %0, %1 {
    %0 = accumulate %y, %y {offset = 0, sizes = [n], strides = [1]} : f32[n]
    %1 = exp %y : f32[n]
  }
  return %0, %1)",
                 "accumulate must be all that it puts out"},
           Wrong{R"(kernel a -> %0#0, %s {
    %0:2 = sort %y {axis = 0, descending = false} : f32[n], i64[n]
  }
  return %0#0, %s)",
                 "kernel a: sort is a routine, which stands alone"},
           Wrong{R"(kernel a -> %0#0 {
    %0:2 = sort %y {axis = 0, descending = false} : f32[n], i64[n]
  }
  kernel b -> %1 {
    %1 = neg %0#1 : i64[n]
  }
  return %1)",
                 "kernel b: neg reads (sort : i64[n]), which is neither in the kernel nor put out by an earlier one"},
           Wrong{R"(kernel a -> %1 {
    %0 = store %y, %y {offset = 0, sizes = [n], strides = [1]} : f32[n]
    %1 = exp %0 : f32[n]
  }
  return %1)",
                 "what store leaves is read from memory"},
           Wrong{R"(kernel a -> %1 {
    %0 = exp %q : f32[m, m]
    %1 = reshape %0 {shape = [k]} : f32[k]
  }
  return %1)",
                 "put out what it reshapes"},
           Wrong{R"(kernel a -> %y {
    %0 = exp %y : f32[n]
  }
  return %y)",
                 "kernel a puts out (%y), which it does not compute"},
           Wrong{R"(kernel a -> %0 {
    %0 = exp %y : f32[n]
    %1 = sum %0 {dims = [0]} : f32[]
  }
  return %0)",
                 "which nothing that it puts out needs"},
           Wrong{R"(%0 = constant 1 : f32[]
  %1 = expand %0 {shape = [n]} : f32[n]
  kernel a -> %2 {
    %2 = add %y, %1 : f32[n]
  }
  return %2)",
                 "which is neither in the kernel nor put out by an earlier one"},
           Wrong{R"(%0 = constant 1 : f32[]
  %1 = expand %0 {shape = [n]} : f32[n]
  kernel a -> %2 {
    %2 = exp %y : f32[n]
  }
  return %1, %2)",
                 "is put out by no kernel"},
       }) {
    INFO(wrong.body);
    const std::string text =
        "braze.ir 1\ngraph f(%x: f32[n, m], %y: f32[n], %q: f32[m, m], %s: f32[] scalar, k: index) {\n  " + wrong.body + "\n}\n";
    try {
      run_pipeline(parse_module(text), {});
      FAIL("nothing was thrown");
    } catch (const Error& e) {
      INFO(e.what());
      CHECK(std::string(e.what()).find(wrong.says) != std::string::npos);
    }
  }
}
