#include "ir/error.h"
#include "passes/nest.h"
#include "passes/passes.h"

namespace braze::passes {
namespace {

// Each node of a group finds its operands in the group, among what earlier groups leave in memory, or outside all groups.
void verify_groups(const Module& module) {
  const ir::Graph& graph = module.graph;
  std::vector<bool> grouped(graph.size()), in_memory(graph.size());
  std::vector<std::uint32_t> group_of(graph.size());  // the last group, from 1, that computes a node
  for (const Group& group : module.groups)
    for (const ir::NodeId node : group.nodes) {
      invariant(node < graph.size(), "group {} has node {}, the graph has {}", group.name, node, graph.size());
      grouped[node] = true;
    }
  std::uint32_t number = 0;
  for (const Group& group : module.groups) {
    ++number;
    for (const ir::NodeId node : group.nodes) {
      for (const ir::Value v : graph[node].in)
        invariant(group_of[v.node] == number || in_memory[stored_value(graph, v).node] || !grouped[stored_value(graph, v).node],
                  "group {}: node {} ({}) reads node {} ({}), which is neither in the group nor in memory", group.name, node,
                  ir::name(graph[node].op), v.node, ir::name(graph[v.node].op));
      group_of[node] = number;
    }
    for (const ir::Value v : group.outputs) {
      invariant(v.node < graph.size() && (group_of[v.node] == number || !grouped[v.node]),
                "group {} puts out node {}, which it does not compute", group.name, v.node);
      in_memory[v.node] = true;
    }
  }
  for (const ir::Value v : graph.results)
    invariant(in_memory[stored_value(graph, v).node] || !grouped[stored_value(graph, v).node],
              "result {} ({}) is left in memory by no group", v.node, ir::name(graph.node(v).op));
}

}  // namespace

void verify(const Module& module) {
  ir::verify(module.graph);
  if (module.stage >= Stage::fused) verify_groups(module);
  if (module.stage == Stage::loops)  // plan moves them into the program
    for (const Lowered& lowered : module.kernels) ir::verify(lowered.loops);
  if (module.stage == Stage::steps)
    for (const ir::Kernel& kernel : module.program.kernels) ir::verify(kernel);
}

}  // namespace braze::passes
