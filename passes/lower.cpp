// A group becomes a nest: every value that an output needs is evaluated at a place, views move the place, and what comes from
// outside the group is a load there. A reshape that does not fit the axes splits one and the group is lowered again; at the end
// axes that every address allows are collapsed.
#include <memory>

#include "ir/error.h"
#include "passes/lowering.h"

namespace braze::passes {

using namespace lowering;

ir::Value stored_value(const Graph& graph, Value value) {
  while (graph.node(value).op == Op::reshape) value = graph.node(value).in[0];
  return value;
}

namespace {

Nest lower_group(const Graph& graph, const Extents& extents, const Group& group, std::size_t part) {
  IndexTable& index = extents.index();
  const auto dot = domain_of(graph, group, part).contraction;
  const bool units = !dot || !dot_axes(graph, *dot).product;
  Splits splits;
  for (const IndexId extent : Lowering::natural_extents(graph, extents, group, part)) {
    const bool unit = units && index.is_number(extent, 1);
    splits.push_back(unit ? std::vector<IndexId>{} : std::vector<IndexId>{extent});
  }
  constexpr int most_splits = 64;
  for (int attempt = 0;; ++attempt) {
    Lowering lowering(graph, extents, group, part, splits);
    try {
      Nest nest = lowering.run();
      tidy(nest, index);
      return nest;
    } catch (const SplitRequest& request) {
      invariant(attempt < most_splits, "kernel {}: its reshapes keep splitting axes", group.name);
      const auto [axis, piece] = lowering.natural(request.axis);
      const IndexId outer = *exact_quotient(index, splits[axis][piece], request.inner);
      splits[axis][piece] = outer;
      splits[axis].insert(splits[axis].begin() + static_cast<std::ptrdiff_t>(piece) + 1, request.inner);
    }
  }
}

// A group that is a routine: operands in memory, then the results that somebody reads.
Nest routine_nest(const Graph& graph, const Group& group) {
  Nest nest;
  nest.name = group.name;
  nest.routine = group.nodes[0];
  for (const Value in : graph[group.nodes[0]].in)
    if (!is_immediate(graph.node(in))) nest.buffers.push_back(stored_value(graph, in));
  nest.buffers.insert(nest.buffers.end(), group.outputs.begin(), group.outputs.end());
  return nest;
}

void lower_groups(Module& module, const Options& options) {
  check_groups(module);
  const Extents extents(module.graph, module.index);
  for (const Group& group : module.groups) {
    const Node* concat = concat_of(module.graph, group);
    const std::size_t parts = concat ? concat->in.size() : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      const bool routine = group.nodes.size() == 1 && ir::info(module.graph[group.nodes[0]].op).routine();
      Nest nest = routine ? routine_nest(module.graph, group) : lower_group(module.graph, extents, group, part);
      group_law(std::holds_alternative<ir::CpuTarget>(options.target) || nest.contractions.empty() || nest.reductions.empty(),
                "kernel {} holds a dot and a reduction, which is for CPUs", group.name);
      nest.group = static_cast<std::uint32_t>(module.nests.size());
      if (part > 0) nest.name += fmt::format("_{}", part + 1);
      for (const NodeId id : group.nodes)
        if (module.graph[id].location.line) nest.location = module.graph[id].location;
      module.nests.push_back(std::make_shared<const Nest>(std::move(nest)));
    }
  }
}

}  // namespace

Module lower(Module module, const Options& options) {
  try {
    lower_groups(module, options);
  } catch (const BadGroup& bad) {
    refuse(module, bad);
  }
  module.stage = Stage::loops;
  return module;
}

}  // namespace braze::passes
