#include <vector>

#include "ir/graph.h"

namespace braze::ir {

Graph copy(const Graph& graph) {
  Graph out;
  out.name = graph.name;
  out.symbols = graph.symbols;
  std::vector<NodeId> copies(graph.size());
  std::vector<Value> in;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.op == Op::parameter) {
      const Parameter& p = node.as<Parameter>();
      copies[id] = out.parameter(node.out[0], p.kind, graph.parameter_name(p.number)).node;
      continue;
    }
    in.clear();
    for (const Value v : node.in) in.push_back({copies[v.node], v.result});
    copies[id] = out.add(node.op, in, *node.attributes, node.location);
  }
  for (const Value v : graph.results) out.results.push_back({copies[v.node], v.result});
  return out;
}

}  // namespace braze::ir
