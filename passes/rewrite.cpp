#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/meaning.h"
#include "passes/knobs.h"

namespace braze::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Value;

namespace {

// Ops whose result holds the elements of their one operand and nothing else.
bool only_moves(Op op) {
  return op == Op::expand || op == Op::reshape || op == Op::permute || op == Op::slice || op == Op::flip || op == Op::view;
}

// Whether the bits of `literal` are those of `number` in its type.
bool equals(const ir::Literal& literal, double number) {
  if (is_float(literal.type)) {
    const double limit = literal.type == DType::f16 ? 65504 : 1e38;  // ir::literal refuses what overflows
    return std::abs(number) <= limit && ir::literal(literal.type, number).bits == literal.bits;
  }
  const int unused = 64 - 8 * size_of(literal.type);
  const auto value = static_cast<std::int64_t>(literal.bits << unused);
  const auto shifted =
      is_signed(literal.type) ? value >> unused : static_cast<std::int64_t>(static_cast<std::uint64_t>(value) >> unused);
  return static_cast<double>(shifted) == number;
}

}  // namespace

std::optional<ir::Literal> splat(const Graph& graph, Value value) {
  constexpr int longest = 64;  // simplified graphs have no long chains of moves; others must not cost a walk an operand
  for (int i = 0; i < longest && only_moves(graph.node(value).op); ++i) value = graph.node(value).in[0];
  if (graph.node(value).op != Op::constant) return std::nullopt;
  return graph.node(value).as<ir::Literal>();
}

int weight(const Graph& graph, const Node& node) {
  constexpr int node_itself = 5;
  switch (node.op) {
    case Op::parameter:
    case Op::constant:
      return 0;
    case Op::expand:
      return 1;
    case Op::reshape:
      return 2;
    case Op::view:
      return 40;  // more than the structured ops that replace it
    case Op::cast:
      return node_itself + 1;
    default:
      break;
  }
  if (!info(node.op).elementwise()) return node_itself;
  return node_itself + ir::cost(node.op, graph.type(node.in.back()).dtype);
}

class Rewriter {
 public:
  Rewriter(const Graph& from, const RuleSet& rules, bool fast_math, const Fired& fired)
      : from_(from), rules_(rules), fast_math_(fast_math), fired_(fired) {
    to_.name = from.name;
    to_.symbols = from.symbols;
    for (const Value p : from.parameters()) {
      const auto& parameter = from.node(p).as<ir::Parameter>();
      to_.parameter({parameter.type, parameter.shape}, parameter.kind, from.parameter_name(parameter.number));
    }
    for (const Rule& rule : rules.rules()) {
      const bool off = knobs().skips(rule.name) || (rule.bits == Bits::fast_math && !fast_math);
      active_.push_back(!off);
    }
  }

  Graph run() {
    std::vector<Value> replaced(from_.size());  // of result 0; the others only ever move with their node
    const auto new_value = [&](Value v) { return v.result == 0 ? replaced[v.node] : Value{replaced[v.node].node, v.result}; };
    std::vector<Value> in;
    for (const NodeId id : postorder(from_, from_.results)) {
      const Node& node = from_[id];
      if (node.op == Op::parameter) {
        replaced[id] = to_.parameters()[node.as<ir::Parameter>().number];
        continue;
      }
      in.clear();
      for (const Value v : node.in) in.push_back(new_value(v));
      location_ = node.location;
      replaced[id] = make(node.op, in, *node.attributes);
    }
    for (const Value v : from_.results) to_.results.push_back(new_value(v));
    return std::move(to_);
  }

  // Adds a node and rewrites it; `in` must be values of the new graph.
  Value make(Op op, std::span<const Value> in, ir::Attributes attributes) {
    const Value swapped[] = {in.size() > 1 ? in[1] : Value{}, in.empty() ? Value{} : in[0]};
    if (info(op).commutative() && out_of_order(in[0], in[1])) in = swapped;
    const NodeId id = to_.add(op, in, std::move(attributes), location_);
    if (id < settled_.size() && settled_[id]) return settled_[id];
    settled_.resize(to_.size());
    settled_[id] = {id, 0};  // what a rule meets that makes its own root again
    const Value result = rewritten({id, 0});
    return settled_[id] = result;
  }

  const Graph& graph() const { return to_; }

 private:
  // Rules build from operands that are settled, so that a chain of rules firing within one another is short; this is where it would
  // end if it were not. The node is then left for the next run of the pass.
  static constexpr int deepest = 64;
  static constexpr int splat_weight = 1;  // a constant's expand

  bool out_of_order(Value a, Value b) const {
    const bool constant_a = splat(to_, a).has_value(), constant_b = splat(to_, b).has_value();
    if (constant_a != constant_b) return constant_a;
    return std::pair(a.node, a.result) > std::pair(b.node, b.result);
  }

  Value rewritten(Value root) {
    if (info(to_.node(root).op).results > 1 || depth_ == deepest) return root;
    ++depth_;
    for (const std::uint32_t number : rules_.of(to_.node(root).op)) {
      if (!active_[number]) continue;
      const Rule& rule = rules_.rules()[number];
      Match match(*this, root);
      if (!matches(rule.pattern, root, match)) continue;
      const auto first_new = static_cast<NodeId>(to_.size());
      const std::optional<Value> result = rule.becomes(match);
      if (!result || *result == root) continue;
      check(rule, match, *result, first_new);
      if (fired_) fired_(rule.name, to_.node(root).location);
      --depth_;
      return *result;
    }
    --depth_;
    return root;
  }

  void check(const Rule& rule, const Match& match, Value result, NodeId first_new) const {
    const Value root = match.root;
    invariant(to_.type(result) == to_.type(root), "the rule {} turns {} into {}", rule.name, text(to_.type(root), to_.symbols),
              text(to_.type(result), to_.symbols));
    int after = 0;
    std::vector<Value> pending{result};
    while (!pending.empty()) {  // a tree of a few new nodes
      const Value v = pending.back();
      pending.pop_back();
      if (v.node < first_new) continue;
      after += weight(to_, to_.node(v));
      for (const Value operand : to_.node(v).in) pending.push_back(operand);
    }
    invariant(after < match.bindings.weight, "the rule {} makes {} (weight {}) of weight {}", rule.name,
              ir::name(to_.node(result).op), after, match.bindings.weight);
  }

  bool matches(const Pattern& pattern, Value v, Match& match) const {
    const auto slot = static_cast<std::size_t>(pattern.slot);
    switch (pattern.kind) {
      case Pattern::Kind::any:
        if (match.bindings.bound >> slot & 1) return match.bindings.values[slot] == v;
        match.bindings.bound |= 1u << slot;
        match.bindings.values[slot] = v;
        return true;
      case Pattern::Kind::number: {
        const std::optional<ir::Literal> literal = splat(to_, v);
        match.bindings.weight += splat_weight;
        return literal && equals(*literal, pattern.number);
      }
      case Pattern::Kind::literal: {
        const std::optional<ir::Literal> literal = splat(to_, v);
        if (!literal || (match.bindings.bound_literals >> slot & 1 && match.bindings.literals[slot] != *literal)) return false;
        match.bindings.bound_literals |= 1u << slot;
        match.bindings.weight += splat_weight;
        match.bindings.literals[slot] = *literal;
        return true;
      }
      case Pattern::Kind::folded: {
        const Node& node = to_.node(v);
        match.bindings.weight += weight(to_, node);
        return info(node.op).elementwise() && node.op != Op::wrap_index &&
               std::all_of(node.in.begin(), node.in.end(), [&](Value in) { return splat(to_, in); });
      }
      case Pattern::Kind::op:
        break;
    }
    const Node& node = to_.node(v);
    if (node.op != pattern.op || node.in.size() != pattern.in->size()) return false;
    const auto operands_match = [&](const std::vector<Pattern>& patterns, bool swapped) {
      for (std::size_t i = 0; i < node.in.size(); ++i)
        if (!matches(patterns[i], node.in[swapped ? 1 - i : i], match)) return false;
      return true;
    };
    const Match::Slots before = match.bindings;
    bool found = operands_match(*pattern.in, false);
    if (!found && info(node.op).commutative()) {
      match.bindings = before;
      found = operands_match(*pattern.in, true);
    }
    match.bindings.weight += weight(to_, node);
    return found;
  }

  const Graph& from_;
  const RuleSet& rules_;
  const bool fast_math_;
  const Fired& fired_;
  Graph to_;
  std::vector<bool> active_;
  std::vector<Value> settled_;  // by new node: what became of it
  ir::Location location_;
  int depth_ = 0;
};

const Graph& Match::graph() const { return rewriter_.graph(); }

Value Match::make(Op op, std::initializer_list<Value> in, ir::Attributes attributes) const {
  return rewriter_.make(op, {in.begin(), in.size()}, std::move(attributes));
}

Value Match::splat(const ir::Literal& literal, const ir::Shape& shape) const {
  const Value constant = make(Op::constant, {}, literal);
  return shape.empty() ? constant : make(Op::expand, {constant}, ir::ToShape{shape});
}

Value Match::build(const Pattern& pattern) const {
  switch (pattern.kind) {
    case Pattern::Kind::any:
      return (*this)[pattern.slot];
    case Pattern::Kind::literal:
      return splat(constant(pattern.slot), type().shape);
    case Pattern::Kind::number:
      return splat(ir::literal(dtype(), pattern.number), type().shape);
    case Pattern::Kind::folded:
    case Pattern::Kind::op:
      break;
  }
  InlineVector<Value, 3> in;
  for (const Pattern& operand : *pattern.in) in.push_back(build(operand));
  return rewriter_.make(pattern.op, in, ir::None{});
}

Rule::Rule(std::string_view name, Pattern pattern, Pattern result, Condition when, Bits bits)
    : name(name), pattern(std::move(pattern)), bits(bits) {
  for (const Op op : result.ops())
    invariant(info(op).op_class < ir::OpClass::shaped, "the rule {} builds {}, which needs attributes", name, ir::name(op));
  becomes = [result = std::move(result), when](const Match& match) -> std::optional<Value> {
    if (when != nullptr && !when(match)) return std::nullopt;
    return match.build(result);
  };
}

RuleSet::RuleSet(std::vector<Rule> rules) : rules_(std::move(rules)), buckets_(ir::op_count) {
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    const Pattern& pattern = rules_[i].pattern;
    for (int op = 0; op < ir::op_count; ++op)
      if (pattern.kind == Pattern::Kind::folded ? info(static_cast<Op>(op)).elementwise() : static_cast<Op>(op) == pattern.op)
        buckets_[static_cast<std::size_t>(op)].push_back(i);
  }
}

Graph rewrite(const Graph& graph, const RuleSet& rules, bool fast_math, const Fired& fired) {
  return Rewriter(graph, rules, fast_math, fired).run();
}

}  // namespace braze::passes
