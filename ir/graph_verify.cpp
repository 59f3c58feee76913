#include <unordered_set>

#include "ir/error.h"
#include "ir/graph.h"
#include "ir/identifier.h"

namespace braze::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() const {
    names();
    for (NodeId id = 0; id < graph_.size(); ++id) node(id);
    for (std::size_t i = 0; i < graph_.parameters().size(); ++i) {
      const Node& parameter = graph_.node(graph_.parameters()[i]);
      invariant(parameter.op == Op::parameter && parameter.as<Parameter>().number == i, "parameter {} is node {}, a {}", i,
                graph_.parameters()[i].node, ir::name(parameter.op));
    }
    for (Value v : graph_.results) value_exists(v, graph_.size(), "a result");
  }

 private:
  void names() const {
    std::unordered_set<std::string_view> seen;
    for (const std::string& symbol : graph_.symbols)
      invariant(is_identifier(symbol) && seen.insert(symbol).second, "the symbol '{}' is no name or occurs twice", symbol);
    seen.clear();
    for (std::size_t i = 0; i < graph_.parameters().size(); ++i)
      invariant(seen.insert(graph_.parameter_name(i)).second, "two parameters are called %{}", graph_.parameter_name(i));
  }

  void value_exists(Value v, NodeId before, std::string_view user) const {
    invariant(v.node < before && v.result < graph_[v.node].out.size(), "{} uses value {}#{}, which is not before it", user, v.node,
              v.result);
  }

  void symbols_exist(const Shape& shape, NodeId id) const {
    for (Extent e : shape) symbol_exists(e, id);
  }
  void symbol_exists(Extent e, NodeId id) const {
    invariant(e.is_number() || e.symbol() < graph_.symbols.size(), "node {} ({}) mentions the unknown symbol {}", id,
              ir::name(graph_[id].op), e.is_symbol() ? e.symbol() : 0);
  }

  void node(NodeId id) const {
    const Node& node = graph_[id];
    InlineVector<const Type*, 4> in;
    for (Value v : node.in) {
      value_exists(v, id, ir::name(node.op));
      in.push_back(&graph_.type(v));
    }
    for_each_extent(*node.attributes, [&](Extent e) { symbol_exists(e, id); });
    for (const Type& type : node.out) symbols_exist(type.shape, id);
    invariant(node.out.size() == info(node.op).results, "node {} ({}) has {} results", id, ir::name(node.op), node.out.size());
    Type out[max_results];
    try {
      infer(node.op, *node.attributes, in, std::span<Type>(out, node.out.size()));
    } catch (const Error& error) {
      invariant(false, "node {} ({}) is ill-typed: {}", id, ir::name(node.op), error.what());
    }
    for (std::size_t i = 0; i < node.out.size(); ++i)
      invariant(node.out[i] == out[i], "node {} ({}) has type {} where infer says {}", id, ir::name(node.op),
                text(node.out[i], graph_.symbols), text(out[i], graph_.symbols));
  }

  const Graph& graph_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace braze::ir
