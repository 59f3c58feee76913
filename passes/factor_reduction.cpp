#include "passes/factor_reduction.h"

#include <algorithm>

namespace braze::passes {

using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::Shape;
using ir::Value;

namespace {

// A reduction's operand seen as a matrix: which axis is reduced, and the other one's extent.
struct Matrix {
  bool reduces_last;
  ir::IndexId kept;
};
std::optional<Matrix> matrix_of(const Extents& extents, const Shape& shape, std::uint64_t mask) {
  Shape kept;
  std::vector<bool> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_reduced = mask >> i & 1;
    if (!is_reduced) kept.push_back(shape[i]);
    if (!extents.is_one(shape[i])) axes.push_back(is_reduced);
  }
  if (axes.empty() || axes.front() == axes.back()) return std::nullopt;
  if (!std::is_sorted(axes.begin(), axes.end()) && !std::is_sorted(axes.rbegin(), axes.rend())) return std::nullopt;
  const bool last_is_reduced = mask >> (shape.size() - 1) & 1;  // the order goes by position
  if (last_is_reduced != axes.back()) return std::nullopt;
  return Matrix{axes.back(), extents.product(kept)};
}

bool is_transpose(const Node& node) {
  return node.op == Op::permute && node.out[0].shape.size() == 2 && node.as<ir::Permutation>().order[0] == 1;
}

}  // namespace

std::optional<FactorReduction> factor_reduction(const ir::Graph& graph, const Extents& extents, NodeId dot, NodeId reduction) {
  const Node &product = graph[dot], &reduces = graph[reduction];
  const Shape& shape = product.out[0].shape;
  if (shape.size() != 2 || product.as<ir::Dot>().order != ir::Dot::Order::blocked) return std::nullopt;
  const auto matrix = matrix_of(extents, graph.type(reduces.in[0]).shape, reduces.as<ir::Reduced>().mask);
  if (!matrix) return std::nullopt;
  for (const bool left : {true, false}) {
    const Value factor = product.in[left ? 0 : 1];
    const bool turned = is_transpose(graph.node(factor));
    const Value lies = turned ? graph.node(factor).in[0] : factor;
    const bool k_is_last = left != turned;
    if (stored_value(graph, lies) != stored_value(graph, reduces.in[0]) || k_is_last != matrix->reduces_last) continue;
    // Then k is as long as what is reduced: both have all the elements.
    if (extents.of(shape[left ? 0 : 1]) != matrix->kept) continue;
    return FactorReduction{left, matrix->reduces_last ? ReduceOrder::inner : ReduceOrder::outer};
  }
  return std::nullopt;
}

}  // namespace braze::passes
