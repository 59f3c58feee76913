// Graphs of a few statements, as one line of text.
#pragma once

#include <regex>
#include <string>

#include "ir/graph.h"

namespace braze::test {

// `body` is what follows "graph f(", its lines joined by spaces.
inline ir::Graph parsed(const std::string& body) {
  static const std::regex statement(" (%[0-9]+(:[0-9]+)? = |return )");
  return ir::parse_graph("braze.ir 1\ngraph f(" + std::regex_replace(body, statement, "\n  $1") + "\n");
}

}  // namespace braze::test
