// The derivative pass through the graph's interpreter: every row of the table against finite differences in f64, first and second
// order; PyTorch's values at kinks; long chains. What only the runtime computes: tests/derivatives.cpp.
#include "passes/derivative.h"

#include <pthread.h>

#include <ctime>
#include <set>

#include "ir/error.h"
#include "passes/passes.h"
#include "tests/catch.h"
#include "tests/passes/derivative_cases.h"
#include "tests/passes/derivative_check.h"
#include "tests/passes/graph_text.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::test;

namespace {

Graph elementwise(Op op, Shape shape) {
  Graph graph;
  std::vector<Value> in;
  for (int k = 0; k < arity(op); ++k) {
    const DType type = op == Op::where && k == 0 ? DType::boolean : DType::f64;
    in.push_back(graph.parameter({type, shape}, Parameter::Kind::buffer, "x" + std::to_string(k)));
  }
  graph.results = {{graph.add(op, in), 0}};
  return graph;
}

double value(const HostArray& a) { return test::at(a, 0); }
HostArray scalar(double v) {
  HostArray a = make_host_array(DType::f64, {});
  test::set(a, 0, v);
  return a;
}

struct Recorded {
  Op op;
  double a, b, in_a, in_b;
};
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
// From PyTorch 2.15 in float64: {op, a, b, gradient in a, gradient in b}. Without i0 at infinities, whose i1 is NaN there.
constexpr Recorded recorded[] = {
#include "tests/passes/derivative_recorded.inc"
};

bool agree(double found, double wanted, double tolerance = 1e-12) {
  if (std::isnan(wanted) || std::isinf(wanted)) return std::isnan(wanted) ? std::isnan(found) : found == wanted;
  return std::abs(found - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

}  // namespace

TEST_CASE("every elementwise row has the derivative that finite differences say, to the second order") {
  constexpr std::pair<double, double> domains[] = {{0.25, 0.85}, {-0.85, -0.25}, {1.2, 2.8}, {-2.8, -1.2}};
  std::mt19937 random(1);
  for (int i = 0; i < op_count; ++i) {
    const auto op = static_cast<Op>(i);
    if (info(op).op_class >= OpClass::shaped || !accepts(op, DType::f64)) continue;
    if (info(op).result == ResultType::boolean) {
      CHECK_FALSE(passes::differentiable(op, DType::f64));
      continue;
    }
    INFO(name(op));
    int checked = 0, refused = 0;
    for (const auto& [low, high] : domains) {
      const Graph graph = elementwise(op, {2, 3});
      try {
        const bool second =
            op != Op::lgamma && op != Op::digamma;  // differences of digamma and zeta lose too much near their poles
        checked += check_derivative(graph, arguments_of(graph, low, high, random), {}, second ? 2 : 1, random);
      } catch (const NotImplementedError& e) {
        ++refused;
      }
    }
    const bool without_formula = op == Op::nextafter || op == Op::zeta || op == Op::gammainc || op == Op::gammaincc;
    CHECK((without_formula ? refused : checked) > 0);
  }
}

TEST_CASE("what has a formula in its second operand alone is differentiated there") {
  std::mt19937 random(2);
  for (const Op op : {Op::zeta, Op::gammainc, Op::gammaincc}) {
    Graph graph;
    const Value a{graph.add(Op::constant, {}, literal(DType::f64, 1.75)), 0};
    const Value x = graph.parameter({DType::f64, {}});
    const Value in[] = {a, x};
    graph.results = {{graph.add(op, in), 0}};
    INFO(name(op));
    CHECK(check_derivative(graph, arguments_of(graph, 0.5, 2.5, random), {}, 2, random));
  }
}

TEST_CASE("elementwise rows on no elements, and on symbolic extents") {
  std::mt19937 random(3);
  for (const Op op : {Op::exp, Op::mul, Op::pow, Op::maximum, Op::where, Op::fma, Op::i1}) {
    CHECK(check_derivative(elementwise(op, {0, 3}), arguments_of(elementwise(op, {0, 3}), 0.5, 1, random), {}, 2, random));
    Graph graph;
    const Extent n = graph.new_symbol("n");
    std::vector<Value> in;
    for (int k = 0; k < arity(op); ++k)
      in.push_back(graph.parameter({op == Op::where && k == 0 ? DType::boolean : DType::f64, {n}}));
    graph.results = {{graph.add(op, in), 0}};
    CHECK(check_derivative(graph, arguments_of(graph, 0.5, 1, random), symbols_of(graph), 2, random));
  }
}

TEST_CASE("every other row that has a derivative, in graphs of its own") {
  std::mt19937 random(4);
  std::set<Op> seen;
  for (const char* body : derivative_cases) {
    INFO(body);
    const Graph graph = parsed(body);
    for (NodeId id = 0; id < graph.size(); ++id) seen.insert(graph[id].op);
    try {
      CHECK(check_derivative(graph, arguments_of(graph, 0.4, 1.6, random), symbols_of(graph), 2, random));
    } catch (const std::exception& e) {
      FAIL_CHECK(e.what());
    }
  }
  for (const char* body : derivative_cases_of_routines) {
    const Graph graph = parsed(body);
    for (NodeId id = 0; id < graph.size(); ++id) seen.insert(graph[id].op);
  }
  for (int i = 0; i < op_count; ++i) {
    const auto op = static_cast<Op>(i);
    if (info(op).op_class < OpClass::shaped) continue;
    INFO(name(op));
    CHECK((seen.contains(op) || !passes::differentiable(op, DType::f64)));
  }
}

TEST_CASE("PyTorch's values at kinks, poles and ties") {
  for (const Recorded& r : recorded) {
    const Graph graph = elementwise(r.op, {});
    const Arrays x = arity(r.op) == 1 ? Arrays{scalar(r.a)} : Arrays{scalar(r.a), scalar(r.b)};
    const Arrays found = interpreted(passes::grad(graph), x, {});
    CAPTURE(name(r.op), r.a, r.b);
    // PyTorch's trigamma is its own series, right to 1e-9.
    if (!agree(value(found[0]), r.in_a, r.op == Op::digamma ? 1e-8 : 1e-12))
      FAIL_CHECK("in a: " << value(found[0]) << ", PyTorch has " << r.in_a);
    if (arity(r.op) > 1 && !agree(value(found[1]), r.in_b)) FAIL_CHECK("in b: " << value(found[1]) << ", PyTorch has " << r.in_b);
  }
}

namespace {

Arrays vector_of(std::initializer_list<double> values) {
  HostArray a = make_host_array(DType::f64, {static_cast<std::int64_t>(values.size())});
  std::int64_t i = 0;
  for (double v : values) test::set(a, i++, v);
  return {a};
}
std::vector<double> gradient(const std::string& body, const Arrays& x) {
  const Arrays g = interpreted(passes::grad(parsed(body)), x, {});
  std::vector<double> out;
  for (std::int64_t i = 0; i < g[0].elements(); ++i) out.push_back(test::at(g[0], i));
  return out;
}
using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("ties and zeros in reductions, as PyTorch has them") {
  const Arrays ties = vector_of({1, 3, 3, 2, 3}), zero = vector_of({2, 0, 3}), zeros = vector_of({2, 0, 0});
  CHECK(gradient("%x: f64[5]) { %0 = max %x {dims = [0]} : f64[] return %0 }", ties) == Numbers{0, 1. / 3, 1. / 3, 0, 1. / 3});
  CHECK(gradient("%x: f64[5]) { %0:2 = max_with_index %x {dims = [0]} : f64[], i64[] return %0#0 }", ties) ==
        Numbers{0, 1, 0, 0, 0});
  CHECK(gradient("%x: f64[5]) { %0:2 = cummax %x {axis = 0} : f64[5], i64[5] return %0#0 }", ties) == Numbers{1, 1, 2, 0, 1});
  CHECK(gradient("%x: f64[5]) { %0:2 = sort %x {axis = 0, descending = false} : f64[5], i64[5] return %0#0 }", ties) ==
        Numbers{1, 1, 1, 1, 1});
  CHECK(gradient("%x: f64[3]) { %0 = prod %x {dims = [0]} : f64[] return %0 }", zero) == Numbers{0, 6, 0});
  CHECK(gradient("%x: f64[3]) { %0 = prod %x {dims = [0]} : f64[] return %0 }", zeros) == Numbers{0, 0, 0});
  CHECK(gradient("%x: f64[3]) { %0 = cumprod %x {axis = 0} : f64[3] return %0 }", zero) == Numbers{1, 8, 0});
  CHECK(gradient("%x: f64[3]) { %0 = cumprod %x {axis = 0} : f64[3] return %0 }", zeros) == Numbers{1, 2, 0});
}

TEST_CASE("higher orders at zeros of products are finite differences' too") {
  std::mt19937 random(5);
  for (const char* body : {"%x: f64[4]) { %0 = prod %x {dims = [0]} : f64[] return %0 }",
                           "%x: f64[4]) { %0 = cumprod %x {axis = 0} : f64[4] return %0 }",
                           "%x: f64[n]) { %0 = cumprod %x {axis = 0} : f64[n] return %0 }"}) {
    const Graph graph = parsed(body);
    for (const Arrays& x : {vector_of({2, 0, 3, 0.5}), vector_of({0, 2, 0, -1}), vector_of({0, 0, 0, 1})})
      CHECK(check_derivative(graph, x, symbols_of(graph), 3, random, {.tolerance = 1e-5, .step = 1e-4}));
  }
}

TEST_CASE("a value read twice, one returned twice, a parameter returned") {
  std::mt19937 random(6);
  for (const char* body :
       {"%x: f64[3]) { %0 = mul %x, %x : f64[3] %1 = mul %0, %0 : f64[3] %2 = add %1, %0 : f64[3] return %2, %0, %0, %x }",
        "%x: f64[3], %y: f64[3]) { %0 = sub %x, %y : f64[3] %1 = div %x, %0 : f64[3] return %1, %y }"}) {
    const Graph graph = parsed(body);
    CHECK(check_derivative(graph, arguments_of(graph, 0.4, 1.6, random), {}, 3, random, {.tolerance = 1e-5, .step = 1e-4}));
  }
}

TEST_CASE("zeros are symbolic: what does not matter is not differentiated") {
  const Graph graph = parsed(
      "%x: f32[n], %y: f32[n], %i: i64[n]) { %0 = sin %x : f32[n] %1 = tanh %y : f32[n] %2 = cast %x : i64[n] %3 = cast %2 : f32[n]"
      " %4 = mul %0, %3 : f32[n] %5 = zeta %1, %1 : f32[n] return %4, %5 }");
  const Graph derivative = passes::grad(graph, {.results = {0}, .parameters = {0, 1}});
  std::multiset<Op> ops;
  for (NodeId id : postorder(derivative, derivative.results)) ops.insert(derivative[id].op);
  CHECK(ops.count(Op::tanh) + ops.count(Op::zeta) == 0);
  CHECK(ops.count(Op::cos) == 1);
  CHECK(ops.count(Op::mul) == 2);  // by the cast, which is constant, and by the cosine
  CHECK(derivative.results.size() == 2);
  CHECK_THROWS_AS(passes::grad(graph), ValueError);
  CHECK_THROWS_AS(passes::grad(graph, {.results = {2}}), ValueError);
  CHECK_THROWS_AS(passes::grad(graph, {.results = {0}, .parameters = {2}}), TypeError);
  CHECK_THROWS_AS(passes::grad(graph, {.results = {1}}), NotImplementedError);
}

TEST_CASE("halves compute in f32 and round once") {
  const Graph graph = parsed("%x: f16[4]) { %0 = tanh %x : f16[4] return %0 }");
  HostArray x = make_host_array(DType::f16, {4});
  const double values[] = {0.3, -1.7, 2.2, 0.01};
  for (int i = 0; i < 4; ++i) test::set(x, i, values[i]);
  const Arrays y = interpreted(graph, {x}, {}), g = interpreted(passes::grad(graph), {x}, {});
  for (int i = 0; i < 4; ++i) {
    const auto t = static_cast<float>(test::at(y[0], i));
    HostArray wanted = make_host_array(DType::f16, {1});
    test::set(wanted, 0, 1 - t * t);
    CHECK(test::at(g[0], i) == test::at(wanted, 0));
  }
}

TEST_CASE("results print, parse, and pass through the graph passes with their values") {
  std::mt19937 random(7);
  for (const char* body : derivative_cases) {
    const Graph graph = parsed(body);
    for (const bool forward : {false, true}) {
      const Graph derivative = forward ? passes::jvp(graph, {.keep_results = true}) : passes::vjp(graph);
      CHECK(print(parse_graph(print(derivative))) == print(derivative));
      const Arrays x = arguments_of(derivative, 0.4, 1.6, random);
      const Arrays before = interpreted(derivative, x, symbols_of(derivative));
      passes::Module module;
      module.graph = copy(derivative);
      for (const auto pass : {passes::canonicalize, passes::simplify, passes::structure_views, passes::dead_code})
        module = pass(std::move(module), {});
      const Arrays after = interpreted(module.graph, x, symbols_of(module.graph));
      REQUIRE(before.size() == after.size());
      for (std::size_t k = 0; k < before.size(); ++k)
        for (std::int64_t i = 0; i < before[k].elements(); ++i)
          if (std::abs(test::at(before[k], i) - test::at(after[k], i)) > 1e-12) FAIL("simplified:\n" << print(derivative));
    }
  }
}

TEST_CASE("a chain of 10,000 ops differentiates in a tenth of a second, one of a million on a small stack") {
  const auto chain = [](int length) {
    Graph graph;
    Value v = graph.parameter({DType::f32, {graph.new_symbol("n")}});
    for (int i = 0; i < length; ++i) v = {graph.add(i % 2 ? Op::sin : Op::exp, {&v, 1}), 0};
    graph.results = {v};
    return graph;
  };
  const Graph shorter = chain(10'000);
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  const Graph derivative = passes::grad(shorter);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  const double seconds =
      static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  WARN("derivative of 10,000 ops: " << 1000 * seconds << " ms");
  CHECK(seconds < 0.1);
  CHECK(derivative.size() >= 25'000);

  const Graph longer = chain(1'000'000);
  std::size_t nodes[2] = {};
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  struct Work {
    const Graph& graph;
    std::size_t* nodes;
  } work{longer, nodes};
  pthread_t thread{};
  REQUIRE(pthread_create(
              &thread, &small,
              [](void* p) -> void* {
                const Work& w = *static_cast<Work*>(p);
                w.nodes[0] = passes::grad(w.graph).size();
                w.nodes[1] = passes::jvp(w.graph).size();
                return nullptr;
              },
              &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  CHECK(nodes[0] >= 2'500'000);
  CHECK(nodes[1] >= 2'500'000);
}

TEST_CASE("many small slices of one operand add into its cotangent and cost what they hold") {
  Graph graph;
  const Value x = graph.parameter({DType::f64, {64, 3}});
  Value total{};
  for (std::int64_t i = 0; i < 64; ++i) {
    const Value row{graph.add(Op::slice, {&x, 1}, Slice{{i, 0}, {1, 3}, {1, 1}}), 0};
    const Value value{graph.add(Op::exp, {&row, 1}), 0};
    const Value both[] = {total ? total : value, value};
    total = total ? Value{graph.add(Op::mul, both), 0} : value;
  }
  graph.results = {total};
  std::mt19937 random(8);
  CHECK(check_derivative(graph, arguments_of(graph, -0.1, 0.1, random), {}, 1, random));
  const Graph derivative = passes::grad(graph);
  for (NodeId id : postorder(derivative, derivative.results)) CHECK(derivative[id].op != Op::pad);
}
