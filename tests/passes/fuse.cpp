#include <algorithm>

#include "tests/catch.h"
#include "tests/passes/run_program.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::test;

namespace {

passes::Module fused(const std::string& text, const passes::Options& options = cpu_options()) {
  passes::Module module;
  module.graph = parse_graph(text);
  module = fuse(std::move(module), options);
  verify(module);
  return module;
}

bool has_note(const passes::Module& module, const std::string& words) {
  return std::any_of(module.notes.begin(), module.notes.end(),
                     [&](const passes::Note& note) { return note.reason.find(words) != std::string::npos; });
}

// x -> neg -> sigmoid -> neg -> ..., n nodes.
Graph chain(int n) {
  Graph graph;
  const Extent extent = graph.new_symbol("n");
  Value v = graph.parameter({DType::f32, {extent}}, Parameter::Kind::buffer, "x");
  for (int i = 0; i < n; ++i) {
    const Value in[] = {v};
    v = {graph.add(i % 2 ? Op::sigmoid : Op::neg, in), 0};
  }
  graph.results = {v};
  return graph;
}

}  // namespace

TEST_CASE("a chain of a million nodes is cut into capped groups, in linear time and without recursion") {
  passes::Module module;
  module.graph = chain(1'000'000);
  module = fuse(std::move(module), cpu_options());
  std::size_t nodes = 0;
  for (const passes::Group& group : module.groups) {
    CHECK(group.outputs.size() == 1);
    nodes += group.nodes.size();
    if (group.nodes.size() > static_cast<std::size_t>(passes::Options{}.group_nodes)) FAIL("a group of " << group.nodes.size());
  }
  CHECK(nodes == 1'000'000);
  CHECK(module.groups.size() < 11'000);
}

TEST_CASE("a long chain runs as it is cut") {
  const Graph graph = chain(500);
  const auto module = check_graph(graph, {.symbols = {{"n", 70}}});
  CHECK(module.program.kernels.size() == 6);
  CHECK(module.program.slots.size() <= 3);
}

TEST_CASE("a cheap value is computed again, a dear one goes through memory") {
  const auto cheap = fused(R"(braze.ir 1
graph f(%x: f32[n, m]) {
  %0 = neg %x : f32[n, m]
  %1 = sum %0 {dims = [0]} : f32[m]
  %2 = sum %0 {dims = [1]} : f32[n]
  return %1, %2
})");
  REQUIRE(cheap.groups.size() == 2);
  CHECK(cheap.groups[0].outputs.size() + cheap.groups[1].outputs.size() == 2);
  const auto dear = fused(R"(braze.ir 1
graph f(%x: f32[n, m]) {
  %0 = exp %x : f32[n, m]
  %1 = sum %0 {dims = [0]} : f32[m]
  %2 = sum %0 {dims = [1]} : f32[n]
  return %1, %2
})");
  REQUIRE(dear.groups.size() == 2);
  CHECK(dear.groups[0].outputs.size() + dear.groups[1].outputs.size() == 3);
  CHECK(has_note(dear, "2 kernels use it"));
}

TEST_CASE("groups never need each other in a circle") {
  // a feeds a whole reduction, whose result meets a again.
  const auto module = fused(R"(braze.ir 1
graph f(%x: f32[n]) {
  %0 = exp %x : f32[n]
  %1 = sum %0 {dims = [0]} : f32[]
  %2 = expand %1 {shape = [n]} : f32[n]
  %3 = div %0, %2 : f32[n]
  return %3
})");
  CHECK(module.groups.size() == 2);
  CHECK(has_note(module, "the whole tensor is one row"));
}

TEST_CASE("siblings over one operand read it once") {
  const auto module = fused(R"(braze.ir 1
graph f(%x: f32[n, m]) {
  %0 = sum %x {dims = [1]} : f32[n]
  %1 = max %x {dims = [1]} : f32[n]
  %2:2 = min_with_index %x {dims = [1]} : f32[n], i64[n]
  return %0, %1, %2#0, %2#1
})");
  CHECK(module.groups.size() == 1);
}

TEST_CASE("what is computed from scalars alone is in memory where it is a result, and whoever reads it comes after") {
  check_graph(R"(braze.ir 1
graph f(%p: f32[] scalar) {
  %0 = exp %p : f32[]
  %1 = cast %0 : i8[]
  %2 = cast %1 : f32[]
  %3 = sum %2 {dims = []} : f32[]
  %4 = sum %3 {dims = []} : f32[]
  %5 = ge %4, %0 : bool[]
  return %5, %0
})");
  check_graph(R"(braze.ir 1
graph f(%p: f32[] scalar, %x: f32[n]) {
  %0 = iota {shape = [n]} : i64[n]
  %1 = cast %0 : bool[n]
  %2 = atan %p : f32[]
  %3 = expand %2 {shape = [n]} : f32[n]
  %4 = gt %3, %x : bool[n]
  %5 = add %1, %4 : bool[n]
  return %5, %2
})",
              {.symbols = {{"n", 40}}});
  // A scalar and a constant themselves, and one that a store writes over.
  check_graph(R"(braze.ir 1
graph f(%p: f32[] scalar, %x: f32[n]) {
  %0 = constant 2.5 : f32[]
  %1 = expand %p {shape = [n]} : f32[n]
  %2 = expand %0 {shape = [n]} : f32[n]
  %3 = mul %1, %2 : f32[n]
  %4 = store %3, %x {offset = 0, sizes = [n], strides = [1]} : f32[n]
  %5 = neg %3 : f32[n]
  %6 = reshape %p {shape = [1]} : f32[1]
  return %p, %0, %4, %5, %6, %2
})",
              {.symbols = {{"n", 40}}});
}

TEST_CASE("unfused, every op is a kernel, and views are none") {
  const auto module = fused(R"(braze.ir 1
graph f(%x: f32[n, m], %a: f32[] scalar) {
  %0 = permute %x {order = [1, 0]} : f32[m, n]
  %1 = expand %a {shape = [m, n]} : f32[m, n]
  %2 = mul %0, %1 : f32[m, n]
  %3 = exp %2 : f32[m, n]
  return %3
})",
                            cpu_options(false));
  CHECK(module.groups.size() == 2);
}

TEST_CASE("a kernel holds no more nodes and buffers than the options allow") {
  std::string text = "braze.ir 1\ngraph f(";
  for (int i = 0; i < 60; ++i) text += (i ? ", %x" : "%x") + std::to_string(i) + ": f32[n]";
  text += ") {\n";
  for (int i = 0; i < 59; ++i)
    text += "  %" + std::to_string(i) + " = add " + (i ? "%" + std::to_string(i - 1) : std::string("%x59")) + ", %x" +
            std::to_string(i) + " : f32[n]\n";
  text += "  return %58\n}";
  const auto module = check_graph(text, {.symbols = {{"n", 100}}});
  for (const Kernel& kernel : module.program.kernels) CHECK(kernel.buffers.size() <= 24);
}

TEST_CASE("a dot of which only the transpose is read is turned, so that what follows is part of its kernel") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%w: f32[n, k], %x: f32[m, k], %g: f32[m, n], %lr: f32[] scalar) {
  %0 = permute %x {order = [1, 0]} : f32[k, m]
  %1 = dot %0, %g : f32[k, n]
  %2 = permute %1 {order = [1, 0]} : f32[n, k]
  %3 = expand %lr {shape = [n, k]} : f32[n, k]
  %4 = mul %2, %3 : f32[n, k]
  %5 = add %w, %4 : f32[n, k]
  return %2, %5
})",
                                  {.symbols = {{"n", 37}, {"k", 50}, {"m", 300}}, .tolerance = 1e-5});
  CHECK(module.groups.size() == 1);
  // Read as it is, too: computed once, as it is.
  const auto both = check_graph(R"(braze.ir 1
graph f(%x: f32[b, k, m], %g: f32[b, m, n]) {
  %0 = dot %x, %g : f32[b, k, n]
  %1 = permute %0 {order = [0, 2, 1]} : f32[b, n, k]
  %2 = exp %1 : f32[b, n, k]
  return %0, %2
})",
                                {.symbols = {{"b", 3}, {"n", 7}, {"k", 20}, {"m", 33}}, .tolerance = 1e-5});
  CHECK(both.groups.size() == 2);
}

TEST_CASE("where one operand's kernel cannot hold a node, another's may") {
  // The mask is of the first dot, which the second one needs: what reads both is the end of the second.
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %w: f32[m, m], %v: f32[m, m], %zero: f32[] scalar) {
  %0 = dot %x, %w : f32[n, m]
  %1 = expand %zero {shape = [n, m]} : f32[n, m]
  %2 = le %0, %1 : bool[n, m]
  %3 = tanh %0 : f32[n, m]
  %4 = dot %3, %v : f32[n, m]
  %5 = where %2, %1, %4 : f32[n, m]
  return %3, %5
})",
                                  {.symbols = {{"n", 21}, {"m", 40}}, .tolerance = 1e-5});
  CHECK(module.groups.size() == 2);
}

TEST_CASE("what is one a row is computed by the kernel that reduces rows") {
  const auto module = check_graph(R"(braze.ir 1
graph f(%x: f32[n, m], %y: f32[n]) {
  %0 = tanh %y : f32[n]
  %1 = reshape %0 {shape = [n, 1]} : f32[n, 1]
  %2 = expand %1 {shape = [n, m]} : f32[n, m]
  %3 = mul %x, %2 : f32[n, m]
  %4 = sum %3 {dims = [1]} : f32[n]
  return %4
})",
                                  {.symbols = {{"n", 21}, {"m", 400}}, .tolerance = 1e-5});
  CHECK(module.groups.size() == 1);
}
