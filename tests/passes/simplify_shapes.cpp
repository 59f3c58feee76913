#include <numeric>
#include <set>

#include "ir/error.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "tests/catch.h"
#include "tests/passes/host_arrays.h"
#include "tests/passes/random_graph.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::passes;
using namespace braze::test;

namespace {

std::vector<HostArray> arguments_of(const Graph& graph) {
  std::vector<HostArray> arguments;
  for (Value p : graph.parameters()) {
    std::vector<std::int64_t> sizes;
    for (Extent e : graph.type(p).shape) sizes.push_back(e.number());
    arguments.push_back(make_host_array(DType::i32, sizes));
    for (std::int64_t i = 0; i < arguments.back().elements(); ++i)
      put(arguments.back(), i, static_cast<std::uint64_t>(1000 * arguments.size() + static_cast<std::size_t>(i)));
  }
  return arguments;
}

void check_same(const Graph& before, const Graph& after) {
  verify(after);
  const auto arguments = arguments_of(before);
  const auto expected = interpret(before, arguments, {}), found = interpret(after, arguments, {});
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same_bits(expected[i], found[i])) FAIL("result " << i << " of\n" << print(before) << "changed by\n" << print(after));
}

Graph structured(const std::string& text) {
  Module module;
  module.graph = parse_graph(text);
  return dead_code(structure_views(std::move(module), {}), {}).graph;
}

int count(const Graph& graph, Op op) {
  int found = 0;
  for (NodeId id = 0; id < graph.size(); ++id) found += graph[id].op == op;
  return found;
}

}  // namespace

TEST_CASE("random moves keep their elements through simplify and structure_views, and every rule of moves fires") {
  std::set<std::string> fired;
  std::mt19937 fixed(7);
  for (int round = 0; round < 4000; ++round) {
    const Graph graph = RandomGraph(fixed).make(2 + round % 8);
    const Graph after =
        rewrite(graph, simplify_rules(), false, [&](std::string_view rule, const Location&) { fired.emplace(rule); });
    check_same(graph, after);
  }
  for (const Rule& rule : shape_rules()) {
    INFO("rule " << rule.name);
    CHECK(fired.contains(std::string(rule.name)));
  }
}

TEST_CASE("random moves, with new seeds each run", "[fuzz]") {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  INFO("seed " << seed);
  std::mt19937 random(seed);
  int views = 0, left = 0;
  for (int round = 0; round < 2000; ++round) {
    Module module;
    module.graph = RandomGraph(random).make(2 + round % 10);
    const Graph& graph = module.graph;
    const auto arguments = arguments_of(graph);
    const auto expected = interpret(graph, arguments, {});
    const std::string before = print(graph);
    views += count(graph, Op::view);
    for (PassFunction pass : {canonicalize, simplify, structure_views, dead_code}) module = pass(std::move(module), {});
    verify(module.graph);
    left += count(module.graph, Op::view);
    const auto found = interpret(module.graph, arguments, {});
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!same_bits(expected[i], found[i]))
        FAIL("seed " << seed << ", result " << i << " of\n" << before << "changed by\n" << print(module.graph));
    const std::string once = print(module.graph);
    for (PassFunction pass : {canonicalize, simplify, structure_views, dead_code}) module = pass(std::move(module), {});
    if (print(module.graph) != once) FAIL("seed " << seed << ": a second run changes\n" << once << "to\n" << print(module.graph));
  }
  CHECK(left * 4 < views);  // most of what the generator makes has structure
}

TEST_CASE("views of dense tensors become moves") {
  const auto body = [](const std::string& parameters, const std::string& layout, const std::string& type) {
    return print(
        structured("braze.ir 1\ngraph v(" + parameters + ") {\n  %0 = view %x " + layout + " : " + type + "\n  return %0\n}\n"));
  };
  CHECK(body("%x: f32[n, m]", "{offset = 0, sizes = [m, n], strides = [1, m]}", "f32[m, n]") == R"(braze.ir 1
graph v(%x: f32[n, m]) {
  %0 = permute %x {order = [1, 0]} : f32[m, n]
  return %0
}
)");
  // A flat storage is cut by the strides.
  CHECK(body("%x: f32[12]", "{offset = 0, sizes = [4, 3], strides = [1, 4]}", "f32[4, 3]") == R"(braze.ir 1
graph v(%x: f32[12]) {
  %0 = reshape %x {shape = [3, 4]} : f32[3, 4]
  %1 = permute %0 {order = [1, 0]} : f32[4, 3]
  return %1
}
)");
  CHECK(body("%x: f32[n, 8]", "{offset = 3, sizes = [n, 2, 5], strides = [8, 2, 0]}", "f32[n, 2, 5]") == R"(braze.ir 1
graph v(%x: f32[n, 8]) {
  %0 = slice %x {starts = [0, 3], sizes = [n, 2], steps = [1, 2]} : f32[n, 2]
  %1 = reshape %0 {shape = [n, 2, 1]} : f32[n, 2, 1]
  %2 = expand %1 {shape = [n, 2, 5]} : f32[n, 2, 5]
  return %2
}
)");
  CHECK(body("%x: f32[100]", "{offset = 10, sizes = [3, 4], strides = [4, 1]}", "f32[3, 4]") == R"(braze.ir 1
graph v(%x: f32[100]) {
  %0 = slice %x {starts = [10], sizes = [12], steps = [1]} : f32[12]
  %1 = reshape %0 {shape = [3, 4]} : f32[3, 4]
  return %1
}
)");
  CHECK(body("%x: f32[n], o: index, m: index", "{offset = o, sizes = [m], strides = [1]}", "f32[m]") == R"(braze.ir 1
graph v(%x: f32[n], o: index, m: index) {
  %0 = slice %x {starts = [o], sizes = [m], steps = [1]} : f32[m]
  return %0
}
)");
}

TEST_CASE("what is not provably structured stays a view") {
  for (const char* text : {
           "graph v(%x: f32[10]) { %0 = view %x {offset = 0, sizes = [8, 3], strides = [1, 1]} : f32[8, 3] return %0 }",  // windows
           "graph v(%x: f32[4, 6]) { %0 = view %x {offset = 0, sizes = [3], strides = [7]} : f32[3] return %0 }",  // the diagonal
           "graph v(%x: f32[n, 8], m: index) { %0 = view %x {offset = 0, sizes = [n, m], strides = [8, 1]} : f32[n, m] return %0 }",
           "graph v(%x: f32[n], s: index, m: index) { %0 = view %x {offset = 0, sizes = [m], strides = [s]} : f32[m] return %0 }",
       }) {
    const Graph graph = structured(std::string("braze.ir 1 ") + text);
    CAPTURE(print(graph));
    const bool kept = count(graph, Op::view) == 1;
    // A stride of any value over the outermost axis is a slice of that step.
    CHECK((kept || graph.node(graph.results[0]).op == Op::slice));
  }
}

TEST_CASE("views of symbolic tensors keep their elements, structured or not") {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  int structured_ones = 0;
  for (int round = 0; round < 2000; ++round) {
    // An operand of two or three axes, each a symbol or a number; or flat, with one symbol or number for all.
    Graph graph;
    std::vector<std::int64_t> numbers, values;
    const std::size_t rank = 1 + static_cast<std::size_t>(below(3));
    Shape shape;
    for (std::size_t i = 0; i < rank; ++i) {
      numbers.push_back(1 + below(5));
      const bool symbol = below(2) == 0;
      shape.push_back(symbol ? graph.new_symbol() : Extent(numbers.back()));
      if (symbol) values.push_back(numbers.back());
    }
    const Value x = graph.parameter({DType::i32, shape});
    // A layout of some of its axes in any order, with strides that one extent can say.
    std::vector<std::size_t> axes(rank);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::shuffle(axes.begin(), axes.end(), random);
    axes.resize(1 + static_cast<std::size_t>(below(rank)));
    Layout layout;
    std::int64_t offset = 0;
    bool sayable = true;
    for (const std::size_t axis : axes) {
      Extent stride(1);
      std::int64_t number = 1;
      for (std::size_t i = axis + 1; i < rank; ++i) {
        number *= numbers[i];
        if (shape[i] == Extent(1)) continue;
        if (stride == Extent(1))
          stride = shape[i];
        else if (stride.is_number() && shape[i].is_number())
          stride = stride.number() * shape[i].number();
        else
          sayable = false;
      }
      const bool whole = below(2) == 0;
      layout.sizes.push_back(whole ? shape[axis] : Extent(1 + below(static_cast<std::size_t>(numbers[axis]))));
      layout.strides.push_back(stride);
      if (!whole) offset += number * below(static_cast<std::size_t>(numbers[axis] - layout.sizes.back().number() + 1));
    }
    if (!sayable) continue;
    if (below(3) == 0) {
      const auto at = static_cast<std::size_t>(below(layout.sizes.size() + 1));
      layout.sizes.insert(at, 3);
      layout.strides.insert(at, 0);
    }
    layout.offset = offset;
    if (below(4) == 0) {
      layout.offset = graph.new_symbol();
      values.push_back(offset);
    }
    graph.results = {{graph.add(Op::view, {&x, 1}, layout), 0}};
    HostArray argument = make_host_array(DType::i32, numbers);
    for (std::int64_t i = 0; i < argument.elements(); ++i) put(argument, i, static_cast<std::uint64_t>(i));
    const std::string before = print(graph);
    const auto expected = interpret(graph, {&argument, 1}, values);
    Module module;
    module.graph = std::move(graph);
    module = dead_code(structure_views(std::move(module), {}), {});
    structured_ones += count(module.graph, Op::view) == 0;
    const auto found = interpret(module.graph, {&argument, 1}, values);
    if (!same_bits(expected[0], found[0])) FAIL(before << "changed by\n" << print(module.graph));
  }
  CHECK(structured_ones > 500);
}

TEST_CASE("stores and views meet") {
  CHECK(print(structured(R"(braze.ir 1
graph s(%x: f32[n, 8], %v: f32[n]) {
  %0 = store %x, %v {offset = 2, sizes = [n], strides = [8]} : f32[n, 8]
  %1 = view %0 {offset = 2, sizes = [n], strides = [8]} : f32[n]
  return %1
}
)")) == R"(braze.ir 1
graph s(%x: f32[n, 8], %v: f32[n]) {
  return %v
}
)");
  CHECK(print(structured(R"(braze.ir 1
graph s(%x: f32[n, 8], %v: f32[n, 8]) {
  %0 = store %x, %v {offset = 0, sizes = [n, 8], strides = [8, 1]} : f32[n, 8]
  %1 = view %0 {offset = 2, sizes = [n], strides = [8]} : f32[n]
  return %1
}
)")) == R"(braze.ir 1
graph s(%x: f32[n, 8], %v: f32[n, 8]) {
  %0 = slice %v {starts = [0, 2], sizes = [n, 1], steps = [1, 1]} : f32[n, 1]
  %1 = reshape %0 {shape = [n]} : f32[n]
  return %1
}
)");
}
