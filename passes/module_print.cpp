#include "ir/graph_text.h"
#include "passes/nest.h"
#include "passes/passes.h"

namespace braze::passes {
namespace {

std::string print_groups(const Module& module) {
  std::vector<ir::GraphBlock> blocks;
  for (const Group& group : module.groups) blocks.push_back({group.name, group.nodes, group.outputs});
  std::vector<ir::GraphRemark> remarks;
  for (const Note& note : module.notes) remarks.push_back({note.producer, note.consumer, note.reason});
  return ir::print(module.graph, blocks, remarks);
}

// Kernels, or nests where schedule has not run.
std::string print_loops(const Module& module) {
  std::string out;
  const auto append = [&out](const std::string& text) {
    if (!out.empty()) out += '\n';
    out += text;
    if (out.back() != '\n') out += '\n';
  };
  if (module.kernels.empty())
    for (const auto& nest : module.nests) append(print(*nest, module.graph, module.index));
  for (const Lowered& lowered : module.kernels)
    append(lowered.call ? print(*module.nests[lowered.group], module.graph, module.index) : ir::print(lowered.loops));
  return out;
}

}  // namespace

std::string print(const Module& module) {
  switch (module.stage) {
    case Stage::graph:
      return ir::print(module.graph);
    case Stage::fused:
      return print_groups(module);
    case Stage::loops:
      return print_loops(module);
    case Stage::steps:
      break;
  }
  return ir::print(module.program);
}

}  // namespace braze::passes
