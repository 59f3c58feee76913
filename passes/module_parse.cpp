#include "ir/graph_text.h"
#include "passes/passes.h"

namespace braze::passes {

Module parse_module(std::string_view text, std::string_view file) {
  Module module;
  std::vector<ir::GraphBlock> blocks;
  module.graph = ir::parse_graph(text, file, blocks);
  for (ir::GraphBlock& block : blocks)
    module.groups.push_back({std::move(block.name), std::move(block.nodes), std::move(block.outputs)});
  if (!module.groups.empty()) module.stage = Stage::fused;
  module.groups_from_text = !module.groups.empty();
  return module;
}

}  // namespace braze::passes
