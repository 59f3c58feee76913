#include "passes/passes.h"

namespace braze::passes {

Module dead_code(Module module, const Options&) {
  const ir::Graph& from = module.graph;
  ir::Graph to;
  to.name = from.name;
  to.symbols = from.symbols;
  std::vector<ir::NodeId> moved(from.size());
  for (const ir::Value p : from.parameters()) {
    const auto& parameter = from.node(p).as<ir::Parameter>();
    moved[p.node] = to.parameter({parameter.type, parameter.shape}, parameter.kind, from.parameter_name(parameter.number)).node;
  }
  std::vector<ir::Value> in;
  for (const ir::NodeId id : postorder(from, from.results)) {
    const ir::Node& node = from[id];
    if (node.op == ir::Op::parameter) continue;
    in.clear();
    for (const ir::Value v : node.in) in.push_back({moved[v.node], v.result});
    moved[id] = to.add(node.op, in, *node.attributes, node.location);
  }
  for (const ir::Value v : from.results) to.results.push_back({moved[v.node], v.result});
  module.graph = std::move(to);
  return module;
}

}  // namespace braze::passes
