// How an elementwise op of the table is recorded: promotion, broadcasting, and the storage order that PyTorch's iterator chooses.
#pragma once

#include <span>

#include "braze/tensor.h"
#include "ir/op.h"

namespace braze {

// The result of `op` as a new tensor.
Tensor elementwise(ir::Op op, std::span<const In* const> operands);
// `op`, written through `target`'s layout; `target` is the first operand and fixes the shape. Throws where PyTorch refuses: a larger
// broadcast, a result of a higher category than the target's.
void elementwise_in_place(ir::Op op, Tensor& target, std::span<const In* const> operands);
// The same for a result that exists: x.f_() for a composed f. Returns `target`.
Tensor& write_in_place(Tensor& target, const Tensor& result, const std::source_location& where);

}  // namespace braze
