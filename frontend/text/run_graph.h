// Running a graph that came as text: what `braze run` does.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "braze/functions.h"
#include "ir/graph.h"

namespace braze::text {

// Buffer parameters take tensors, scalar ones and free extents numbers, each by name.
using Argument = std::variant<Tensor, Scalar>;

// Compiles and runs `graph`. Extents follow from the tensors' sizes. Throws ValueError for a missing or unknown name, TypeError
// and ShapeError for an argument that the parameter's type does not take.
std::vector<Tensor> run_graph(const ir::Graph& graph, const std::map<std::string, Argument>& arguments);

}  // namespace braze::text
