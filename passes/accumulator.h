// What a reduction keeps while it runs: a tuple of values, how an element becomes one, how two join, and what of the last is the
// result. Said once, for every target; in which order elements and tuples join is the target's (ir/reduce_order.h on CPUs).
//
//  * sum: integers and booleans in i64, halves in f32 (rounded once, at the end).
//  * max, min: NaN wins. any, all: a boolean.
//  * argmax, argmin, max_with_index, min_with_index: value and position. NaN wins, of equals (and of NaNs) the least position, so that
//    the order of joining does not matter.
#pragma once

#include <vector>

#include "ir/loops.h"
#include "ir/op.h"

namespace braze::passes {

struct Accumulator {
  ir::Op op;
  DType operand;                          // the dtype reduced
  std::vector<DType> types;               // of the tuple
  std::vector<std::uint64_t> identities;  // raw bits: what nothing at all reduces to, except for positions
  ir::Combine combine;
};
Accumulator accumulator(ir::Op op, DType operand);

// The tuple of one element: its value, in compute_type(operand), and its i64 position among those reduced.
std::vector<ir::ValueId> element_tuple(const Accumulator& accumulator, ir::ValueId value, ir::ValueId position,
                                       ir::InstructionSink& sink);

// Result number `result` of the op, in dtype `type`, from the last tuple.
ir::ValueId reduction_result(const Accumulator& accumulator, std::size_t result, DType type, const std::vector<ir::ValueId>& tuple,
                             ir::InstructionSink& sink);

}  // namespace braze::passes
