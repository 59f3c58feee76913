#include "ir/graph.h"

#include <pthread.h>

#include <cstring>
#include <set>

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

Value unary(Graph& graph, Op op, Value x) { return {graph.add(op, {&x, 1}), 0}; }
Value binary(Graph& graph, Op op, Value a, Value b) {
  const Value in[] = {a, b};
  return {graph.add(op, in), 0};
}

// Runs `work` on a thread of 256 KiB: what recurses over a deep graph dies here.
template <class F>
void on_small_stack(F work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  const auto entry = [](void* f) -> void* {
    (*static_cast<F*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, entry, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("equal nodes are one node; any difference makes another") {
  Graph g;
  const Extent n = g.new_symbol("n"), m = g.new_symbol("m");
  const Value x = g.parameter({DType::f32, {n, 4}}, Parameter::Kind::buffer, "x");
  const Value y = g.parameter({DType::f32, {n, 4}}, Parameter::Kind::buffer, "y");
  CHECK(x != y);
  CHECK(binary(g, Op::add, x, y) == binary(g, Op::add, x, y));

  std::set<NodeId> nodes;
  const auto different = [&](Op op, std::vector<Value> in, Attributes a = None{}) {
    const bool is_new = nodes.insert(g.add(op, in, std::move(a))).second;
    CHECK(is_new);
  };
  different(Op::add, {x, y});
  different(Op::add, {y, x});
  different(Op::sub, {x, y});
  different(Op::cast, {x}, Cast{DType::f64});
  different(Op::cast, {x}, Cast{DType::f16});
  different(Op::constant, {}, Literal{DType::f32, 0});
  different(Op::constant, {}, Literal{DType::f32, 0x80000000});
  different(Op::constant, {}, Literal{DType::i32, 0});
  different(Op::sum, {x}, Reduced{1});
  different(Op::sum, {x}, Reduced{2});
  different(Op::iota, {}, ToShape{{n}});
  different(Op::iota, {}, ToShape{{m}});
  different(Op::flip, {x}, Axes{1});
  different(Op::flip, {x}, Axes{2});
  different(Op::view, {x}, Layout{0, {n}, {4}});
  different(Op::view, {x}, Layout{1, {n}, {4}});
  different(Op::view, {x}, Layout{0, {m}, {4}});
  different(Op::view, {x}, Layout{0, {n}, {m}});
}

TEST_CASE("a node keeps the place where its first twin was written") {
  Graph g;
  const Value x = g.parameter({DType::f32, {3}});
  const NodeId first = g.add(Op::exp, {&x, 1}, None{}, {"a.cpp", 1});
  CHECK(g.add(Op::exp, {&x, 1}, None{}, {"b.cpp", 2}) == first);
  CHECK(text(g[first].location) == "a.cpp:1");
  CHECK(text(Location{}).empty());
  CHECK(intern_file(std::string("c.cpp")) == intern_file("c.cpp"));
}

TEST_CASE("names that are no identifiers, or taken, are replaced") {
  Graph g;
  g.parameter({DType::f32, {}}, Parameter::Kind::buffer, "x");
  g.parameter({DType::f32, {}}, Parameter::Kind::buffer, "x");
  g.parameter({DType::f32, {}}, Parameter::Kind::buffer, "not a name");
  g.parameter({DType::f32, {}}, Parameter::Kind::buffer, "3");
  g.parameter({DType::f32, {}});
  CHECK(g.parameter_name(0) == "x");
  CHECK(g.parameter_name(1) == "p1");
  CHECK(g.parameter_name(2) == "p2");
  CHECK(g.parameter_name(3) == "p3");
  CHECK(g.parameter_name(4) == "p4");
  g.new_symbol("n");
  g.new_symbol("n");
  CHECK(g.symbols == std::vector<std::string>{"n", "s1"});
}

TEST_CASE("postorder visits operands in order, each node once") {
  Graph g;
  const Value x = g.parameter({DType::f32, {3}});
  const Value dead = unary(g, Op::sin, x), b = unary(g, Op::exp, x), a = unary(g, Op::neg, x);
  const Value c = binary(g, Op::add, a, b), d = binary(g, Op::mul, c, a);
  const Value roots[] = {d, c};
  CHECK(postorder(g, roots) == std::vector<NodeId>{x.node, a.node, b.node, c.node, d.node});
  CHECK(g.use_counts()[a.node] == 2);
  CHECK(g.use_counts()[dead.node] == 0);
}

TEST_CASE("moving a graph keeps its nodes where they are") {
  Graph g;
  Value x = g.parameter({DType::f32, {3}});
  for (int i = 0; i < 10000; ++i) x = unary(g, i % 2 ? Op::exp : Op::neg, x);
  const Graph moved = std::move(g);
  CHECK(moved[5000].in[0] == Value{4999, 0});
  CHECK(moved.type(x) == Type{DType::f32, {3}});
}

TEST_CASE("a chain of a million nodes builds, prints, parses, verifies, runs and dies on a small stack", "[slow]") {
  bool done = false;
  on_small_stack([&] {
    Graph g;
    Value x = g.parameter({DType::i64, {2}}, Parameter::Kind::buffer, "x");
    const Value first = x;
    for (int i = 0; i < 1'000'000; ++i) x = i % 2 ? binary(g, Op::add, x, first) : unary(g, Op::neg, x);
    g.results = {x};
    verify(g);
    const std::string printed = print(g);
    const Graph again = parse_graph(printed);
    verify(again);
    if (again.size() != g.size() || print(again) != printed) return;
    HostArray argument = make_host_array(DType::i64, {2});
    std::memset(argument.data.get(), 0, 16);
    argument.data[0] = std::byte{3};
    const auto result = interpret(again, {&argument, 1}, {});
    std::int64_t got[2];
    std::memcpy(got, result[0].data.get(), sizeof got);
    if (got[0] != 3 || got[1] != 0) return;  // each four nodes are -(-x + x) + x
    done = true;
  });
  CHECK(done);
}

TEST_CASE("the verifier names what is broken") {
  Graph g;
  const Value x = g.parameter({DType::f32, {3}});
  g.results = {unary(g, Op::exp, x)};
  CHECK_NOTHROW(verify(g));
  g.results.push_back({17, 0});
  CHECK_THROWS_WITH(verify(g), Catch::Matchers::ContainsSubstring("a result uses value 17#0"));
  g.results = {{x.node, 1}};
  CHECK_THROWS_AS(verify(g), InternalError);
  g.results = {x};
  g.symbols = {"n", "n"};
  CHECK_THROWS_WITH(verify(g), Catch::Matchers::ContainsSubstring("'n'"));
  g.symbols = {};
  const Extent stranger = Extent::symbol(4);
  g.add(Op::iota, {}, ToShape{{stranger}});
  CHECK_THROWS_WITH(verify(g), Catch::Matchers::ContainsSubstring("unknown symbol 4"));
}

TEST_CASE("adding an operand that does not exist is a bug") {
  Graph g;
  const Value nowhere{3, 0};
  CHECK_THROWS_AS(g.add(Op::neg, {&nowhere, 1}), InternalError);
  const Value x = g.parameter({DType::f32, {3}});
  CHECK_THROWS_AS(g.add(Op::add, {&x, 1}), InternalError);
  CHECK_THROWS_AS(g.add(Op::neg, {&x, 1}, Axes{1}), InternalError);
  CHECK_THROWS_AS(g.add(Op::parameter, {}, Parameter{Parameter::Kind::buffer, 5, DType::f32, {}}), InternalError);
}
