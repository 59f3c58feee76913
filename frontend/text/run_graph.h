// What is done with a graph that came as text: run it, as `braze run` does, or make another of it, as `braze grad` does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "braze/functions.h"
#include "frontend/engine/engine.h"
#include "ir/graph.h"

namespace braze::text {

// Buffer parameters take tensors, scalar ones and free extents numbers, each by name.
using Argument = std::variant<Tensor, Scalar>;

// A graph that is compiled when it first runs. Runs may come from several threads.
class GraphRunner {
 public:
  explicit GraphRunner(ir::Graph graph) : graph_(std::move(graph)) {}
  const ir::Graph& graph() const { return graph_; }
  // Extents follow from the tensors' sizes. Throws ValueError for a missing or unknown name, TypeError and ShapeError for an argument that
  // the parameter's type does not take.
  std::vector<Tensor> operator()(const std::map<std::string, Argument>& arguments);

 private:
  ir::Graph graph_;
  std::once_flag compiled_;
  std::shared_ptr<const runtime::Executable> executable_;
};

// The number of the parameter. Throws ValueError.
std::uint32_t parameter_number(const ir::Graph& graph, std::string_view name);

// What `transform` makes of a graph, simplified. Views of known layout become moves first: what is made of them is moves, too.
passes::Module transformed(passes::Module module, const std::function<ir::Graph(const ir::Graph&)>& transform);

}  // namespace braze::text
