// Batching: a graph mapped over a new leading axis (vmap). Every op has a form that takes it along, so that nothing loops: the number of
// kernels is that of one element, whatever the size of the batch.
//
// Laws:
//  * Element b of the result is what the graph gives for element b of the operands, faults included. Floating sums may combine in
//    another order.
//  * What no mapped operand reaches stays as it is, computed once.
//  * Results are ordinary graphs: they print, parse, fuse, run, are differentiated and mapped again.
//  * Draws are not mapped: one stream of numbers has no meaning for each element. Throws NotImplementedError where one depends on a
//    mapped operand.
//
// Rules are written against ir::Builder, so that `batch` also serves pending nodes, one op at a time.
#pragma once

#include <span>
#include <vector>

#include "ir/builder.h"

namespace braze::passes {

// A value where an element's stood. `batched`: it has the new axis in front; else it is the same for all elements.
struct Mapped {
  ir::Expression value;
  bool batched = false;
};

// An op as it was applied to one element's operands, and what stands in their places.
struct Mapping {
  ir::Builder& builder;
  ir::Op op;
  const ir::Attributes& attributes;
  std::span<const ir::Type* const> types;  // of the operands, for one element
  std::span<const Mapped> in;              // at least one is batched
  ir::Extent size;                         // of the batch
};

// Applies the op to all elements and returns its result 0; all its results are batched.
ir::Expression batch(const Mapping& m);

struct BatchingOptions {
  std::vector<std::uint32_t> parameters;  // numbers of those that get the axis; none: all
};

// A new symbol, `batch`, is the first extent of the mapped parameters (a scalar becomes a buffer) and of every result.
ir::Graph vmap(const ir::Graph& graph, const BatchingOptions& options = {});

}  // namespace braze::passes
