// The laws of rules, checked rule by rule: for each row of simplify, graphs that match it are made from its own pattern, for all dtypes
// that the ops take, and both sides run in the interpreter on special values.
#include "passes/rewrite.h"

#include <set>

#include "ir/error.h"
#include "passes/passes.h"
#include "tests/catch.h"
#include "tests/passes/host_arrays.h"

using namespace braze;
using namespace braze::ir;
using namespace braze::passes;
using namespace braze::test;

namespace {

constexpr std::int64_t count = 600;

// Builds what a pattern matches: slots of `type` become parameters, casts go to the given dtypes in turn.
class Instance {
 public:
  Instance(DType type, std::vector<DType> casts, std::uint64_t literal)
      : type_(type), casts_(std::move(casts)), literal_(literal) {}

  Value build(const Pattern& pattern, DType wanted) {
    switch (pattern.kind) {
      case Pattern::Kind::any: {
        Value& v = slots_[static_cast<std::size_t>(pattern.slot)];
        if (!v) v = graph.parameter({wanted, {count}});
        return v;
      }
      case Pattern::Kind::literal:
        return splat({type_, literal_});
      case Pattern::Kind::number:
        return splat(ir::literal(wanted, pattern.number));
      case Pattern::Kind::folded:
      case Pattern::Kind::op:
        break;
    }
    std::vector<Value> in;
    for (std::size_t i = 0; i < pattern.in->size(); ++i)
      in.push_back(build((*pattern.in)[i], pattern.op == Op::where && i == 0 ? DType::boolean : wanted));
    Attributes attributes = None{};
    if (pattern.op == Op::cast) attributes = Cast{casts_[next_cast_++]};
    return {graph.add(pattern.op, in, attributes), 0};
  }

  Graph graph;

 private:
  Value splat(const Literal& literal) {
    const Value constant{graph.add(Op::constant, {}, literal), 0};
    return {graph.add(Op::expand, {&constant, 1}, ToShape{{count}}), 0};
  }

  DType type_;
  std::vector<DType> casts_;
  std::uint64_t literal_;
  std::size_t next_cast_ = 0;
  std::array<Value, 4> slots_{};
};

bool is_elementwise(const Pattern& pattern) {
  const std::vector<Op> ops = pattern.ops();
  return std::all_of(ops.begin(), ops.end(), [](Op op) { return info(op).elementwise(); });
}

// How often the rule fired; where bits must be kept, both graphs give the same.
int check_rule(const Rule& rule, Graph graph, Value root, std::mt19937& random) {
  graph.results = {root};
  const RuleSet only({rule});
  int fired = 0;
  const Graph after = rewrite(graph, only, true, [&](std::string_view name, const Location&) {
    CHECK(name == rule.name);
    ++fired;
  });
  verify(after);
  if (fired == 0 || rule.bits == Bits::fast_math) return fired;
  std::vector<HostArray> arguments;
  for (Value p : graph.parameters()) arguments.push_back(special_array(graph.type(p).dtype, {count}, random));
  if (!same_bits(interpret(graph, arguments, {})[0], interpret(after, arguments, {})[0]))
    FAIL_CHECK("the rule " << rule.name << " changes bits of\n" << print(graph) << "into\n" << print(after));
  return fired;
}

int check_elementwise_rule(const Rule& rule, std::mt19937& random) {
  const std::vector<Op> ops = rule.pattern.ops();
  const auto casts = std::count(ops.begin(), ops.end(), Op::cast);
  int fired = 0;
  for (DType type : all_dtypes)
    for (std::size_t combination = 0; combination < (casts == 0 ? 1 : casts == 1 ? 10 : 100); ++combination) {
      std::vector<std::uint64_t> literals = special_values(type);
      if (rule.pattern.kind == Pattern::Kind::op && std::none_of(rule.pattern.in->begin(), rule.pattern.in->end(),
                                                                 [](const Pattern& p) { return p.kind == Pattern::Kind::literal; }))
        literals.resize(1);
      for (std::uint64_t literal : literals) {
        if (rule.pattern.op == Op::where) literal &= 1;
        Instance instance(rule.pattern.op == Op::where && rule.name == "where-constant" ? DType::boolean : type,
                          {all_dtypes[combination % 10], all_dtypes[combination / 10]}, literal);
        Value root;
        try {
          root = instance.build(rule.pattern, type);
        } catch (const Error&) {
          continue;  // the ops do not take this dtype, or it does not have the number
        }
        fired += check_rule(rule, std::move(instance.graph), root, random);
      }
    }
  return fired;
}

const Rule& rule_named(std::string_view name) {
  for (const Rule& rule : simplify_rules().rules())
    if (rule.name == name) return rule;
  throw std::runtime_error("no such rule");
}

Graph simplified(const std::string& text, bool fast_math = false) {
  return rewrite(parse_graph(text), simplify_rules(), fast_math);
}

}  // namespace

TEST_CASE("each elementwise rule fires, and keeps all bits of special values") {
  std::mt19937 random(1);
  for (const Rule& rule : simplify_rules().rules()) {
    if (rule.pattern.kind != Pattern::Kind::op || !is_elementwise(rule.pattern)) continue;
    INFO("rule " << rule.name);
    CHECK(check_elementwise_rule(rule, random) > 0);
  }
}

TEST_CASE("constants fold to what the interpreter gives, for each row and dtype") {
  std::mt19937 random(2);
  const Rule& fold = rule_named("fold");
  for (int i = 0; i < op_count; ++i) {
    const Op op = static_cast<Op>(i);
    if (!info(op).elementwise() || op == Op::wrap_index) continue;  // which may fault, and stays
    int fired = 0;
    for (DType type : all_dtypes) {
      if (op != Op::cast && !accepts(op, type)) continue;
      for (int round = 0; round < 10; ++round) {
        Graph graph;
        std::vector<Value> in;
        for (int k = 0; k < arity(op); ++k) {
          const DType t = op == Op::where && k == 0 ? DType::boolean : type;
          const auto values = special_values(t);
          in.push_back({graph.add(Op::constant, {}, Literal{t, values[random() % values.size()]}), 0});
        }
        const Value root{graph.add(op, in, op == Op::cast ? Attributes(Cast{all_dtypes[random() % 10]}) : Attributes(None{})), 0};
        graph.results = {root};
        try {
          interpret(graph, {}, {});
        } catch (const ValueError&) {  // divides by zero
          CHECK(rewrite(graph, RuleSet({fold})).node(rewrite(graph, RuleSet({fold})).results[0]).op == op);
          continue;
        }
        fired += check_rule(fold, std::move(graph), root, random);
      }
    }
    INFO("op " << name(op));
    CHECK(fired > 0);
  }
}

TEST_CASE("rule names are unique") {
  std::set<std::string_view> names;
  for (const Rule& rule : simplify_rules().rules()) CHECK(names.insert(rule.name).second);
}

TEST_CASE("rules that would change bits stay out unless fast_math asks") {
  const std::string text = R"(braze.ir 1
graph f(%x: f32[8], %y: f32[8]) {
  %0 = constant 0x0p+0 : f32[]
  %1 = expand %0 {shape = [8]} : f32[8]
  %2 = add %x, %1 : f32[8]
  %3 = exp %2 : f32[8]
  %4 = exp %y : f32[8]
  %5 = mul %3, %4 : f32[8]
  return %5
}
)";
  CHECK(print(simplified(text)) == text);
  CHECK(print(simplified(text, true)) == R"(braze.ir 1
graph f(%x: f32[8], %y: f32[8]) {
  %0 = add %x, %y : f32[8]
  %1 = exp %0 : f32[8]
  return %1
}
)");
}

TEST_CASE("what a rule builds is rewritten in turn, across a long chain and on one walk") {
  Graph graph;
  const Value x = graph.parameter({DType::f32, {4}}, Parameter::Kind::buffer, "x");
  Value v = x;
  for (int i = 0; i < 200'000; ++i) v = {graph.add(Op::neg, {&v, 1}), 0};
  graph.results = {v};
  const Graph after = rewrite(graph, simplify_rules());
  CHECK(after.results[0] == after.parameters()[0]);
}

TEST_CASE("a million nodes of every kind are one walk", "[slow]") {
  Graph graph;
  const Value x = graph.parameter({DType::f32, {4}}, Parameter::Kind::buffer, "x");
  Value v = x;
  for (int i = 0; i < 250'000; ++i) {
    v = {graph.add(Op::flip, {&v, 1}, Axes{1}), 0};
    v = {graph.add(Op::sin, {&v, 1}), 0};
    const Value sum[] = {v, x};
    v = {graph.add(Op::add, sum), 0};
    v = {graph.add(Op::abs, {&v, 1}), 0};
  }
  graph.results = {v};
  Module module;
  module.graph = std::move(graph);
  for (PassFunction pass : {canonicalize, simplify, structure_views, dead_code}) module = pass(std::move(module), {});
  CHECK(module.graph.size() == 1'000'001);
}

TEST_CASE("a commutative op matches either way round") {
  CHECK(print(simplified(R"(braze.ir 1
graph f(%x: f32[8], %y: f32[8]) {
  %0 = neg %x : f32[8]
  %1 = exp %y : f32[8]
  %2 = add %0, %1 : f32[8]
  return %2
}
)")) == R"(braze.ir 1
graph f(%x: f32[8], %y: f32[8]) {
  %0 = exp %y : f32[8]
  %1 = sub %0, %x : f32[8]
  return %1
}
)");
}

TEST_CASE("operands in canonical order make equal sums one") {
  const Graph graph = simplified(R"(braze.ir 1
graph f(%x: f32[n], %y: f32[n]) {
  %0 = constant 2 : f32[]
  %1 = expand %0 {shape = [n]} : f32[n]
  %2 = mul %1, %y : f32[n]
  %3 = add %x, %2 : f32[n]
  %4 = mul %y, %1 : f32[n]
  %5 = add %4, %x : f32[n]
  %6 = sub %3, %5 : f32[n]
  return %6
}
)");
  const Node& sub = graph.node(graph.results[0]);
  CHECK(sub.in[0] == sub.in[1]);
}

TEST_CASE("the driver refuses a rule that breaks a law") {
  using namespace patterns;
  const Pattern x = any(0);
  Graph graph;
  const Value p = graph.parameter({DType::f32, {4}});
  graph.results = {{graph.add(Op::neg, {&p, 1}), 0}};
  CHECK_THROWS_WITH(rewrite(graph, RuleSet({{"grows", -x, exp(abs(x))}})),
                    Catch::Matchers::ContainsSubstring("the rule grows makes exp"));
  CHECK_THROWS_WITH(rewrite(graph, RuleSet({{"retypes", -x, isnan(x)}})),
                    Catch::Matchers::ContainsSubstring("turns f32[4] into bool[4]"));
  CHECK_THROWS_AS((Rule{"attributes", -x, patterns::sum(x)}), InternalError);
}

TEST_CASE("parameters, symbols and names outlive rewriting, unused ones too") {
  const std::string text = R"(braze.ir 1
graph keep(%x: f32[n], %unused: i64[m] donated, %a: f32[] scalar, k: index) {
  return %x
}
)";
  CHECK(print(simplified(text)) == text);
}
