// The examples of docs/ir.md are what Braze prints.
#include <fstream>
#include <sstream>

#include "ir/graph_text.h"
#include "tests/catch.h"

using namespace braze::ir;

TEST_CASE("each graph in docs/ir.md reads and prints as it stands there") {
  std::ifstream in(BRAZE_SOURCE_DIR "/docs/ir.md");
  std::stringstream whole;
  whole << in.rdbuf();
  const std::string text = whole.str(), fence = "```\n";
  int graphs = 0;
  for (std::size_t at = text.find(fence + "braze.ir"); at != std::string::npos; at = text.find(fence + "braze.ir", at + 1)) {
    const std::size_t begin = at + fence.size();
    const std::string example = text.substr(begin, text.find("```", begin) - begin);
    std::vector<GraphBlock> blocks;
    const Graph graph = parse_graph(example, "docs/ir.md", blocks);
    CHECK(print(graph, blocks) == example);
    ++graphs;
  }
  CHECK(graphs >= 1);
}
