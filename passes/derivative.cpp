#include "passes/derivative.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ir/error.h"
#include "passes/derivative_rules.h"

namespace braze::passes {

using ir::Expr;
using ir::Expression;
using ir::Graph;
using ir::GraphBuilder;
using ir::NodeId;
using ir::Op;
using ir::Value;

namespace {

constexpr const Rule* rules[] = {
#define BRAZE_UNARY(name, accepts, result) &rule_##name,
#define BRAZE_BINARY(name, accepts, result, algebra) &rule_##name,
#define BRAZE_TERNARY(name, accepts, result) &rule_##name,
#define BRAZE_SHAPED(name, attributes, results) &rule_##name,
#define BRAZE_ROUTINE(name, attributes, results) &rule_##name,
#include "ir/ops.def"
};
const Rule& rule_of(Op op) { return *rules[static_cast<std::size_t>(op)]; }

// The derivative in operand k of an elementwise op, applied to g; none where it is zero.
Expr partial(const Rule& rule, const Application& a, std::size_t k, const Expr& g) {
  if (rule.refused >> k & 1)
    fail<NotImplementedError>("the derivative for '{}' in its operand {} is not implemented", ir::name(a.op), k);
  if (rule.partials[k] == nullptr) return {};
  if (rule.exact || !is_half(g.dtype())) return rule.partials[k]({a, g});
  return ir::formula::cast(rule.partials[k]({a, ir::formula::cast(g, DType::f32)}), g.dtype());
}

Application application(ir::Builder& builder, const ir::Node& node, std::span<const Expression> out) {
  return {builder, node.op, *node.attributes, node.in, out};
}

// What a walk knows of each value: its cotangent or tangent; none: zero. Nearly all values are result 0 of their node.
class Derivatives {
 public:
  explicit Derivatives(std::size_t nodes) : first_(nodes) {}
  Expression operator[](Value v) const {
    if (v.result == 0) return v.node < first_.size() ? first_[v.node] : Expression{};
    const auto found = others_.find(key(v));
    return found == others_.end() ? Expression{} : found->second;
  }
  void set(Value v, Expression e) {
    if (v.result == 0)
      first_[v.node] = e;
    else
      others_[key(v)] = e;
  }

 private:
  static std::uint64_t key(Value v) { return std::uint64_t{v.node} << 32 | v.result; }
  std::vector<Expression> first_;
  std::unordered_map<std::uint64_t, Expression> others_;
};

// The part of a graph that a derivative passes through: from the chosen parameters to the chosen results.
class Walk {
 public:
  Walk(Graph& graph, const std::vector<Value>& results, const std::vector<Value>& parameters)
      : graph_(graph), builder_(graph), values_(graph.size()), active_(graph.size()), order_(postorder(graph, results)) {
    for (Value p : parameters) active_[p.node] = true;
    for (NodeId id : order_)
      if (!active_[id]) active_[id] = passes(graph[id]);
  }

  bool active(Value v) const { return active_[v.node] && is_float(graph_.type(v).dtype); }
  Derivatives& values() { return values_; }
  GraphBuilder& builder() { return builder_; }

  void backward() {
    Expression g[ir::max_results], out[ir::max_results];
    for (std::size_t i = order_.size(); i-- > 0;) {
      const NodeId id = order_[i];
      const ir::Node& node = graph_[id];
      if (!active_[id] || node.op == Op::parameter) continue;
      bool any = false;
      for (std::uint32_t k = 0; k < node.out.size(); ++k) {
        out[k] = {id, k};
        g[k] = values_[out[k]];
        any |= static_cast<bool>(g[k]);
      }
      if (!any) continue;
      builder_.location = node.location;
      Operands operands(*this, node);
      pull(application(builder_, node, {out, node.out.size()}), {g, node.out.size()}, operands);
    }
  }

  void forward() {
    std::vector<Expression> t;
    Expression results[ir::max_results], out[ir::max_results];
    for (NodeId id : order_) {
      const ir::Node& node = graph_[id];
      if (!active_[id] || node.op == Op::parameter) continue;
      t.clear();
      bool any = false;
      for (Value v : node.in) {
        t.push_back(active(v) ? values_[v] : Expression{});
        any |= static_cast<bool>(t.back());
      }
      if (!any) continue;
      for (std::uint32_t k = 0; k < node.out.size(); ++k) out[k] = {id, k}, results[k] = {};
      builder_.location = node.location;
      push(application(builder_, node, {out, node.out.size()}), t, {results, node.out.size()});
      for (std::uint32_t k = 0; k < node.out.size(); ++k)
        if (results[k] && is_float(node.out[k].dtype)) values_.set(out[k], results[k]);
    }
  }

 private:
  class Operands final : public Cotangents {
   public:
    Operands(Walk& walk, const ir::Node& node) : walk_(walk), node_(node) {}
    bool wants(std::size_t k) const override { return walk_.active(node_.in[k]); }
    Expression running(std::size_t k) const override { return walk_.values_[node_.in[k]]; }
    void replace(std::size_t k, Expression value) override { walk_.values_.set(node_.in[k], value); }

   private:
    Walk& walk_;
    const ir::Node& node_;
  };

  bool passes(const ir::Node& node) const {
    const Rule& rule = rule_of(node.op);
    if (rule.kind == Rule::Kind::constant) return false;
    bool real = false;
    for (const ir::Type& type : node.out) real |= is_float(type.dtype);
    if (!real) return false;
    for (std::size_t k = 0; k < node.in.size(); ++k)
      if (active(node.in[k]) && (rule.kind == Rule::Kind::general || rule.partials[k] || rule.refused >> k & 1)) return true;
    return false;
  }

  Graph& graph_;
  GraphBuilder builder_;
  Derivatives values_;
  std::vector<bool> active_;
  std::vector<NodeId> order_;
};

// The values whose numbers an option lists, or all floats.
std::vector<Value> chosen(const Graph& graph, std::span<const Value> all, const std::vector<std::uint32_t>& numbers,
                          std::string_view what) {
  std::vector<Value> values;
  for (std::uint32_t number : numbers) {
    require<ValueError>(number < all.size(), "{} has no {} {}; there are {}, from 0", graph.name, what, number, all.size());
    const DType type = graph.type(all[number]).dtype;
    require<TypeError>(is_float(type), "only floating point values have derivatives; {} {} of {} is {}", what, number, graph.name,
                       name(type));
    values.push_back(all[number]);
  }
  if (numbers.empty())
    for (Value v : all)
      if (is_float(graph.type(v).dtype)) values.push_back(v);
  require<ValueError>(!values.empty(), "{} has no floating point {}: there is nothing to differentiate", graph.name, what);
  return values;
}

struct Setting {
  Graph graph;
  std::vector<Value> results, parameters;
};
Setting setting(const Graph& original, const DerivativeOptions& options) {
  Setting s{copy(original), {}, {}};
  s.results = chosen(s.graph, s.graph.results, options.results, "result");
  s.parameters = chosen(s.graph, s.graph.parameters(), options.parameters, "parameter");
  return s;
}

// The graph whose results are what the walk found for `of`.
Graph finish(Setting& s, Walk& walk, const std::vector<Value>& of, std::string_view suffix, bool keep_results) {
  std::vector<Value> results;
  if (keep_results) results = s.graph.results;
  walk.builder().location = {};
  for (Value v : of) {
    const Expression e = walk.values()[v];
    results.push_back(e ? e : ir::formula::zeros(walk.builder(), s.graph.type(v)).id());
  }
  s.graph.results = std::move(results);
  s.graph.name += suffix;
  return std::move(s.graph);
}

// The gradient for cotangents that `cotangent(i)` gives for the i-th chosen result.
template <class F>
Graph reverse(const Graph& original, const DerivativeOptions& options, std::string_view suffix, F cotangent) {
  Setting s = setting(original, options);
  Walk walk(s.graph, s.results, s.parameters);
  for (std::size_t i = 0; i < s.results.size(); ++i) {
    const Expr g = cotangent(s, walk.builder(), i);
    if (!walk.active(s.results[i])) continue;
    const Expression before = walk.values()[s.results[i]];  // one value may be a result twice
    walk.values().set(s.results[i], before ? ir::formula::add({walk.builder(), before}, g).id() : g.id());
  }
  walk.backward();
  return finish(s, walk, s.parameters, suffix, options.keep_results);
}

}  // namespace

void Cotangents::add(std::size_t operand, const Expr& value) {
  if (!wants(operand)) return;
  const Expression before = running(operand);
  replace(operand, before ? sum(before, value) : value.id());
}

Expression Cotangents::sum(Expression before, const Expr& value) const {
  return ir::formula::add({value.builder(), before}, value).id();
}

Expr running(const Application& a, const Cotangents& operands, std::size_t k) {
  const Expression e = operands.running(k);
  return e ? Expr{a.builder, e} : ir::formula::zeros_like(a.operand(k));
}

void push_linear(const Application& a, std::span<const Expression> t, std::span<Expression> results) {
  std::vector<Expression> in(a.in.begin(), a.in.end());
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!is_float(a.operand(k).dtype())) continue;
    in[k] = t[k] ? t[k] : ir::formula::zeros_like(a.operand(k)).id();
  }
  results[0] = a.builder.emit(a.op, in, a.attributes);
}

void pull(const Application& a, std::span<const Expression> g, Cotangents& operands) {
  const Rule& rule = rule_of(a.op);
  if (rule.kind == Rule::Kind::general) return rule.pull(a, g, operands);
  if (rule.kind == Rule::Kind::constant || !g[0]) return;
  for (std::size_t k = 0; k < a.in.size(); ++k) {
    if (!operands.wants(k)) continue;
    if (const Expr part = partial(rule, a, k, {a.builder, g[0]})) operands.add(k, part);
  }
}

void push(const Application& a, std::span<const Expression> t, std::span<Expression> results) {
  const Rule& rule = rule_of(a.op);
  if (rule.kind == Rule::Kind::general) return rule.push(a, t, results);
  if (rule.kind == Rule::Kind::constant) return;
  Expr total;
  for (std::size_t k = 0; k < a.in.size(); ++k) {
    if (!t[k]) continue;
    const Expr part = partial(rule, a, k, {a.builder, t[k]});
    if (part) total = total ? ir::formula::add(total, part) : part;
  }
  if (total) results[0] = total.id();
}

bool differentiable(Op op, DType result) { return is_float(result) && rule_of(op).kind != Rule::Kind::constant; }

Graph vjp(const Graph& graph, const DerivativeOptions& options) {
  return reverse(graph, options, "_vjp", [](Setting& s, GraphBuilder& builder, std::size_t i) {
    const std::string name = s.results.size() == 1 ? "cotangent" : fmt::format("cotangent_{}", i);
    return Expr{builder, s.graph.parameter(s.graph.type(s.results[i]), ir::Parameter::Kind::buffer, name)};
  });
}

Graph grad(const Graph& graph, const DerivativeOptions& options) {
  if (options.results.empty()) {
    std::size_t floats = 0;
    for (Value v : graph.results) floats += is_float(graph.type(v).dtype);
    require<ValueError>(floats <= 1, "{} has {} floating point results; say whose gradient it is", graph.name, floats);
  }
  return reverse(graph, options, "_grad",
                 [](Setting& s, GraphBuilder& builder, std::size_t i) { return ir::formula::like({builder, s.results[i]}, 1); });
}

Graph jvp(const Graph& graph, const DerivativeOptions& options) {
  Setting s = setting(graph, options);
  Walk walk(s.graph, s.results, s.parameters);
  for (Value p : s.parameters) {
    const auto& parameter = s.graph.node(p).as<ir::Parameter>();
    const auto kind = parameter.kind == ir::Parameter::Kind::scalar ? parameter.kind : ir::Parameter::Kind::buffer;
    walk.values().set(p, s.graph.parameter(s.graph.type(p), kind, s.graph.parameter_name(parameter.number) + "_tangent"));
  }
  walk.forward();
  return finish(s, walk, s.results, "_jvp", options.keep_results);
}

}  // namespace braze::passes
