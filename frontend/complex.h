// Complex tensors below the surface. The IR has no complex dtype: a complex tensor is a layout, in complex elements, over a storage
// whose value holds twice as many reals, and every operation on one is recorded as operations on reals.
//
//  * What moves elements moves pairs: read_as, write, read_at and write_at (frontend/tensor_impl.h) take and give values with a last
//    axis of two more, and wrap(value, dtype) makes a complex tensor of one.
//  * What computes works on Parts, two real tensors, and joins them again; what is linear (sums, differences, negation) works on the
//    pairs as they lie.
//  * `elementwise` hands every op of the table with a complex operand to complex_elementwise.
//  * read() refuses complex tensors, so that an operation that knows nothing of them throws instead of answering wrongly.
#pragma once

#include <span>

#include "frontend/tensor_impl.h"
#include "ir/op.h"

namespace braze {

// x's elements as reals with a last dim of two, conjugation carried out.
Tensor pairs(const Tensor& x);
// The complex tensor that shows `reals` so: on the same storage, and no view of it. Its last dim must be two neighbours.
Tensor of_pairs(const Tensor& reals);

// Real and imaginary part, of one real dtype and of sizes that broadcast.
struct Parts {
  Tensor re, im;
};
// The parts of an operand as reals of `type`; those of a complex tensor are views.
Parts parts_of(const In& x, DType type);
// re + i im as a new tensor, laid out as re is.
Tensor join(const Parts& z);

Parts operator+(const Parts& a, const Parts& b);
Parts operator-(const Parts& a, const Parts& b);
Parts operator*(const Parts& a, const Parts& b);
Parts operator/(const Parts& a, const Parts& b);
Parts operator-(const Parts& z);

inline bool is_complex(const In& x) { return x.is_scalar() ? x.scalar().is_complex() : is_complex(checked(x.tensor()).dtype()); }
// Throws for a complex operand, naming PyTorch's kernel and the dtype.
inline void refuse_complex(std::string_view kernel, const In& x) {
  if (!is_complex(x)) return;
  const DType type = x.is_scalar() ? complex_type(get_default_dtype()) : x.tensor().dtype();
  fail<NotImplementedError>("\"{}\" not implemented for '{}'", kernel, info(type).scalar_name);
}

inline bool any_complex(std::span<const In* const> operands) {
  for (const In* operand : operands)
    if (is_complex(*operand)) return true;
  return false;
}

// An op of the table on operands of which one is complex. Throws NotImplementedError, or TypeError, where PyTorch has no such
// operation.
Tensor complex_elementwise(ir::Op op, std::span<const In* const> operands);

// Functions of one complex variable, by op: exp, log, sqrt, sin, ... Empty for an op that has none.
using PartsFunction = Parts (*)(const Parts& z);
PartsFunction complex_function(ir::Op op);
Parts exp(const Parts& z);
Parts log(const Parts& z);
Tensor abs(const Parts& z);

}  // namespace braze
