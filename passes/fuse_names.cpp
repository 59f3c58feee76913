#include <map>

#include <fmt/format.h>

#include "passes/fuse.h"

namespace braze::passes {

void name_groups(const ir::Graph& graph, std::vector<Group>& groups) {
  constexpr std::size_t longest = 60;
  std::map<std::string, int> taken;
  for (Group& group : groups) {
    std::vector<std::string_view> ops;
    for (const ir::NodeId id : group.nodes) {
      const ir::Op op = graph[id].op;
      const ir::OpInfo& info = ir::info(op);
      const bool says_little =
          op == ir::Op::cast ||
          (!info.elementwise() && !info.reduction() && info.results == 1 &&
           (info.attributes == ir::AttributeKind::ToShape || info.attributes == ir::AttributeKind::Permutation));
      if (!says_little) ops.push_back(info.name);
    }
    if (ops.empty()) ops.push_back(group.nodes.empty() ? "copy" : ir::name(graph[group.outputs.back().node].op));
    std::string name(ops[0]);
    std::size_t shown = 1;
    while (shown < ops.size() && name.size() + 1 + ops[shown].size() <= longest) name += "_" + std::string(ops[shown++]);
    if (shown < ops.size()) name += fmt::format("_and_{}_more", ops.size() - shown);
    const int earlier = taken[name]++;
    group.name = earlier ? fmt::format("{}_{}", name, earlier + 1) : name;
  }
}

}  // namespace braze::passes
