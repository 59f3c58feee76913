// The ops of a random program as the library has them, and which of them it may use.
#pragma once

#include <algorithm>
#include <vector>

#include "braze/braze.h"
#include "ir/op.h"

namespace braze::test {

struct Unary {
  ir::Op op;
  Tensor (*make)(const In&);
  void (*in_place)(Tensor&);
};
struct Binary {
  ir::Op op;
  Tensor (*make)(const In&, const In&);
  void (*in_place)(Tensor&, const In&);
};
// Every elementwise row of one operand, of two.
const std::vector<Unary>& unaries();
const std::vector<Binary>& binaries();
template <class Row>
const Row& row(const std::vector<Row>& rows, ir::Op op) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.op == op; });
}

// Reductions of exact types alone: floats have an order of their own.
bool reduces(ir::Op op, DType type);
// Ops whose results depend on values alone: no integer division by zero, no sign of a NaN.
bool usable(ir::Op op, DType type);
// Whether PyTorch has the op for the dtype.
bool has_op(ir::Op op, DType type);

}  // namespace braze::test
