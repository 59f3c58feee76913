// Graph text with blocks: what stage `fused` prints, one block a kernel. A node that several kernels compute stands in each of
// their blocks, under the same name; its statements must agree.
//
//   braze.ir 1
//   graph f(%x: f32[n], %y: f32[n]) {
//     kernel mul_add -> %1 {
//       %0 = mul %x, %y : f32[n]
//       %1 = add %0, %x : f32[n]
//     }
//     return %1
//   }
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace braze::ir {

struct GraphBlock {
  std::string name;
  std::vector<NodeId> nodes;  // operands first
  std::vector<Value> outputs;
};

// A remark printed as a comment before `return`, about two nodes.
struct GraphRemark {
  NodeId first, second;
  std::string text;
};

std::string print(const Graph& graph, std::span<const GraphBlock> blocks, std::span<const GraphRemark> remarks = {});
Graph parse_graph(std::string_view text, std::string_view file, std::vector<GraphBlock>& blocks);

}  // namespace braze::ir
