// vmap of every op of the table against the op applied to one element after another, for each choice of mapped operands.
#include "passes/batching.h"

#include <fmt/format.h>

#include <set>

#include "ir/error.h"
#include "passes/derivative.h"
#include "tests/catch.h"
#include "tests/fuzz/end_to_end.h"
#include "tests/passes/derivative_cases.h"
#include "tests/passes/derivative_check.h"
#include "tests/passes/graph_text.h"
#include "tests/passes/host_arrays.h"
#include "tests/passes/random_graph.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::test;

namespace {

// What derivative_cases leave out: ops of integers and booleans, and shapes at which batching could go wrong.
constexpr const char* more_cases[] = {
    "%x: f64[3, 4]) { %0 = argmax %x {dims = [1]} : i64[3] %1 = argmin %x {dims = [0]} : i64[4] return %0, %1 }",
    "%x: i32[3, 4]) { %0 = any %x {dims = [1]} : bool[3] %1 = all %x {dims = [0, 1]} : bool[] return %0, %1 }",
    "%i: i64[2, 3]) { %0 = wrap_index %i {extent = 4} : i64[2, 3] return %0 }",
    "%x: f64[], %v: f64[]) { %0 = pad %x, %v {low = [], high = [], sizes = []} : f64[] return %0 }",
    "%x: f64[2]) { %0 = constant 0x1p+1 : f64[] %1 = expand %0 {shape = [2]} : f64[2] %2 = mul %x, %1 : f64[2] return %2 }",
    "%x: i32[4], %i: i64[]) { %0 = take %x, %i : i32[] return %0 }",
    "%x: f64[], %y: f64[1]) { %0 = expand %x {shape = [2, 3]} : f64[2, 3] %1 = expand %y {shape = [3]} : f64[3] return %0, %1 }",
    "%x: f64[3, 4], %y: f64[4, 1]) { %0 = dot %x, %y : f64[3, 1] return %0 }",
    "%x: f64[2, 3, 4], %y: f64[2, 4, 2]) { %0 = dot %x, %y : f64[2, 3, 2] return %0 }",
    "%s: f64[n, m], %v: f64[m]) { %0 = store %s, %v {offset = 0, sizes = [m], strides = [1]} : f64[n, m] return %0 }",
    "%s: f64[n, m], %v: f64[m]) { %0 = accumulate %s, %v {offset = 0, sizes = [m], strides = [1]} : f64[n, m] return %0 }",
    "%s: f64[0, 3], %v: f64[0]) { %0 = store %s, %v {offset = 0, sizes = [0], strides = [1]} : f64[0, 3] return %0 }",
    "%x: f32[3]) { %0 = cast %x : i64[3] %1 = iota {shape = [3]} : i64[3] %2 = add %0, %1 : i64[3] return %2, %1 }",
    "%spd: f64[3, 3], %b: f64[3, 2]) { %0:3 = lu_factor %spd {rank = 3, check = none} : f64[3, 3], i32[3], i32[]"
    " %1 = lu_solve %0#0, %0#1, %b {transposed = false} : f64[3, 2] return %1 }",
};

Graph elementwise(Op op, DType type) {
  Graph graph;
  std::vector<Value> in;
  for (int k = 0; k < arity(op); ++k) in.push_back(graph.parameter({op == Op::where && k == 0 ? DType::boolean : type, {2, 3}}));
  graph.results = {{graph.add(op, in), 0}};
  return graph;
}

// (a + a^T) and more on the diagonal: symmetric and positive definite.
void make_definite(HostArray& a) {
  const std::int64_t n = a.sizes.back();
  for (std::int64_t matrix = 0; n > 0 && matrix < a.elements() / (n * n); ++matrix)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const std::int64_t lower = (matrix * n + i) * n + j, upper = (matrix * n + j) * n + i;
        const double value = test::at(a, lower) + (i == j ? 3 * static_cast<double>(i + 1) : 0);
        test::set(a, lower, value), test::set(a, upper, value);
      }
}

HostArray stacked(const Arrays& parts) {
  std::vector<std::int64_t> sizes = parts[0].sizes;
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(parts.size()));
  HostArray out = make_host_array(parts[0].dtype, sizes);
  std::int64_t n = 0;
  for (const HostArray& part : parts)
    for (std::int64_t i = 0; i < part.elements(); ++i) host::put(out, n++, host::load(part, i));
  return out;
}

bool near(const HostArray& a, const HostArray& b) {
  if (same_bits(a, b)) return true;
  if (!is_float(a.dtype) || a.sizes != b.sizes) return false;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = test::at(a, i), y = test::at(b, i);
    if (!(std::abs(x - y) <= 1e-9 * (1 + std::abs(x))) && !(std::isnan(x) && std::isnan(y)) && x != y) return false;
  }
  return true;
}

// `runs`: how a graph is run. `elements`: arguments of each element, of which an operand that is not mapped takes the first's.
template <class Run>
void check(const Graph& graph, const std::vector<Arrays>& elements, const std::vector<std::int64_t>& symbols, Run run) {
  const std::size_t parameters = graph.parameters().size();
  for (std::size_t chosen = 1; chosen < std::size_t{1} << parameters; ++chosen) {
    passes::BatchingOptions options;
    Arrays arguments;
    for (std::uint32_t p = 0; p < parameters; ++p) {
      Arrays column;
      for (const Arrays& element : elements) column.push_back(element[p]);
      if (chosen >> p & 1) options.parameters.push_back(p);
      arguments.push_back(chosen >> p & 1 ? stacked(column) : column[0]);
    }
    const Graph mapped = passes::vmap(graph, options);
    verify(mapped);
    INFO(print(graph));
    INFO(print(mapped));
    std::vector<std::int64_t> with_batch = symbols;
    with_batch.push_back(static_cast<std::int64_t>(elements.size()));
    const Arrays found = run(mapped, arguments, with_batch);
    std::vector<Arrays> wanted(graph.results.size());
    for (std::size_t b = 0; b < elements.size(); ++b) {
      Arrays one;
      for (std::size_t p = 0; p < parameters; ++p) one.push_back(elements[chosen >> p & 1 ? b : 0][p]);
      const Arrays results = run(graph, one, symbols);
      for (std::size_t r = 0; r < results.size(); ++r) wanted[r].push_back(results[r]);
    }
    REQUIRE(found.size() == wanted.size());
    for (std::size_t r = 0; r < found.size(); ++r)
      if (!near(found[r], stacked(wanted[r]))) FAIL_CHECK("result " << r << ": " << first_difference(found[r], stacked(wanted[r])));
  }
}

Arrays through_runtime(const Graph& graph, const Arrays& arguments, const std::vector<std::int64_t>& symbols) {
  const Outcome outcome = run_whole(graph, arguments, symbols);
  REQUIRE(outcome.fault == Fault::none);
  return outcome.results;
}

std::vector<Arrays> random_elements(const Graph& graph, int count, std::mt19937& random) {
  std::vector<Arrays> elements;
  for (int b = 0; b < count; ++b) {
    elements.push_back(arguments_of(graph, -1, 1.5, random));
    for (std::size_t p = 0; p < elements[0].size(); ++p)
      if (graph.parameter_name(p).starts_with("spd")) make_definite(elements.back()[p]);
  }
  return elements;
}

void note_ops(const Graph& graph, std::set<Op>& seen) {
  for (NodeId id : postorder(graph, graph.results)) seen.insert(graph[id].op);
}

}  // namespace

TEST_CASE("vmap of every op is the op on one element after another, whichever operands are mapped") {
  std::mt19937 random(3);
  std::set<Op> seen;
  for (int i = 0; i < op_count; ++i) {
    const auto op = static_cast<Op>(i);
    if (info(op).op_class >= OpClass::shaped) continue;
    const DType type = accepts(op, DType::f64) ? DType::f64 : DType::i32;
    const Graph graph = elementwise(op, type);
    INFO(name(op));
    std::vector<Arrays> elements;
    for (int b = 0; b < 3; ++b) {
      elements.emplace_back();
      for (Value p : graph.parameters()) elements.back().push_back(special_array(graph.type(p).dtype, {2, 3}, random));
    }
    check(graph, elements, {}, interpreted);
    seen.insert(op);
  }
  const auto run_all = [&](std::span<const char* const> cases) {
    for (const char* body : cases) {
      INFO(body);
      const Graph graph = parsed(body);
      note_ops(graph, seen);
      check(graph, random_elements(graph, 3, random), symbols_of(graph), through_runtime);
    }
  };
  run_all(derivative_cases);
  run_all(derivative_cases_of_routines);
  run_all(more_cases);
  for (int i = 0; i < op_count; ++i) {
    const auto op = static_cast<Op>(i);
    if (op == Op::draw) continue;  // refused
    INFO(name(op));
    CHECK(seen.contains(op));
  }
}

TEST_CASE("vmap of a batch of none and of one") {
  std::mt19937 random(4);
  for (const char* body : {derivative_cases[0], derivative_cases[19], derivative_cases[24], more_cases[6]}) {
    const Graph graph = parsed(body);
    check(graph, random_elements(graph, 1, random), symbols_of(graph), through_runtime);
    const Graph mapped = passes::vmap(graph);
    Arrays none;
    for (const HostArray& a : arguments_of(graph, 0, 1, random)) {
      std::vector<std::int64_t> sizes = a.sizes;
      sizes.insert(sizes.begin(), 0);
      none.push_back(make_host_array(a.dtype, sizes));
    }
    std::vector<std::int64_t> symbols = symbols_of(graph);
    symbols.push_back(0);
    for (const HostArray& a : through_runtime(mapped, none, symbols)) CHECK(a.elements() == 0);
  }
}

TEST_CASE("vmap of random graphs of views, stores and moves") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Graph graph = RandomGraph(random).make(8);
    std::vector<Arrays> elements;
    for (int b = 0; b < 3; ++b) {
      elements.emplace_back();
      for (Value p : graph.parameters()) {
        std::vector<std::int64_t> sizes;
        for (Extent e : graph.type(p).shape) sizes.push_back(e.number());
        elements.back().push_back(special_array(graph.type(p).dtype, sizes, random));
      }
    }
    CAPTURE(round);
    check(graph, elements, {}, interpreted);
  }
}

TEST_CASE("vmap, vjp and jvp nest in every order, two deep and three") {
  std::mt19937 random(6);
  const Graph f = parsed(
      "%x: f64[3, 4], %w: f64[4, 2]) { %0 = dot %x, %w : f64[3, 2] %1 = tanh %0 : f64[3, 2] %2 = sum %1 {dims = [1]} : f64[3] "
      "return %2 }");
  const auto apply = [](int which, const Graph& g) {
    return which == 0 ? passes::vmap(g) : which == 1 ? passes::vjp(g) : passes::jvp(g);
  };
  for (int outer = 0; outer < 3; ++outer)
    for (int inner = 0; inner < 3; ++inner)
      for (int last = 0; last < 3; ++last) {
        const Graph g = apply(outer, apply(inner, apply(last, f)));
        CAPTURE(outer, inner, last);
        verify(g);
        // Where the outermost is vmap, element by element; else the derivative is checked as such.
        std::vector<std::int64_t> symbols;
        for (std::size_t i = 0; i < g.symbols.size(); ++i) symbols.push_back(static_cast<std::int64_t>(2 + i));
        if (outer != 0) {
          const Graph of = apply(inner, apply(last, f));
          Arrays x = arguments_of(of, -1, 1, random);
          std::vector<std::int64_t> values(of.symbols.size(), 5);
          CHECK(check_derivative(of, x, values, 1, random));
          continue;
        }
        const Graph element = apply(inner, apply(last, f));
        check(element, random_elements(element, 2, random), std::vector<std::int64_t>(element.symbols.size(), 5), interpreted);
      }
}

TEST_CASE("vmap: an index out of one element's range is a fault, though the batch has that place") {
  const Graph graph = parsed("%x: f64[4], %i: i64[2]) { %0 = take %x, %i : f64[2] return %0 }");
  const Graph mapped = passes::vmap(graph);
  for (const std::int64_t index : {std::int64_t{4}, std::int64_t{-1}}) {
    HostArray x = make_host_array(DType::f64, {2, 4}), i = make_host_array(DType::i64, {2, 2});
    for (std::int64_t k = 0; k < 8; ++k) test::set(x, k, static_cast<double>(k));
    for (std::int64_t k = 0; k < 4; ++k) test::set(i, k, 1);
    test::set(i, index < 0 ? 2 : 0, static_cast<double>(index));
    const Arrays arguments{x, i};
    CHECK(run_whole(mapped, arguments, std::vector<std::int64_t>{2}).fault == Fault::index_out_of_range);
  }
}

TEST_CASE("vmap keeps apart what is not mapped, and says what it cannot do") {
  const Graph graph = parsed("%x: f64[3], %y: f64[3]) { %0 = exp %y : f64[3] %1 = mul %x, %0 : f64[3] return %1, %0 }");
  const Graph mapped = passes::vmap(graph, {.parameters = {0}});
  for (NodeId id : postorder(mapped, mapped.results))
    if (mapped[id].op == Op::exp) CHECK(mapped[id].out[0].rank() == 1);
  CHECK(mapped.type(mapped.results[1]).rank() == 2);
  CHECK_THROWS_WITH(passes::vmap(graph, {.parameters = {7}}), "f has no parameter 7; there are 2, from 0");
  Graph draw;
  const Value state = draw.parameter({DType::u8, {generator_bytes}}), low = draw.parameter({DType::f64, {}});
  const Value in[] = {state, low, low};
  draw.results = {{draw.add(Op::draw, in, Draw{Draw::Kind::uniform, DType::f32, {4}}), 0}};
  CHECK_THROWS_AS(passes::vmap(draw), NotImplementedError);
  Graph empty;
  CHECK_THROWS_WITH(passes::vmap(empty), "main has no parameter to map over");
}
