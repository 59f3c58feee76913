// Complex tensors: complex64 and complex128, pairs of float32 and of float64. Everything else of the surface takes them wherever
// PyTorch does: arithmetic, powers and exponentials, sums and products, matrix products, indexing, joining, printing. What PyTorch
// refuses (an order among complex numbers, rounding, ...) throws NotImplementedError that names the dtype.
//
// A complex tensor's memory is pairs of reals, real part first, so that real(), imag() and view_as_real() are views: a write through
// any of them is seen by all. conj() is a view too, which shows the same memory conjugated.
//
// Where nothing is said, f follows https://pytorch.org/docs/stable/generated/torch.f.html
#pragma once

#include "braze/tensor.h"

namespace braze {

// real + i imag. Both float32 or both float64 (half is not there as a complex type); shapes broadcast. Throws Error for other dtypes.
Tensor complex(const In& real, const Tensor& imag);
// abs (cos(angle) + i sin(angle)), dtypes as complex's.
Tensor polar(const In& abs, const Tensor& angle);
// A complex tensor's pairs as a last dim of two reals, and the reverse: views. The first throws Error for a real tensor and for a
// conjugated view, the second unless the last dim is two neighbours of float32 or float64 at an even place.
Tensor view_as_real(const In& x);
Tensor view_as_complex(const In& x);
// Views on the parts. real of a real tensor is itself; imag of one throws TypeError. imag of a conjugated view is a copy that refuses
// writes: Braze has no negated views.
Tensor real(const In& x);
Tensor imag(const In& x);
// Whether the tensor shows its memory conjugated; the conjugate with its elements in memory of their own if so, else itself.
bool is_conj(const Tensor& x);
Tensor resolve_conj(const In& x);
Tensor resolve_neg(const In& x);  // itself

}  // namespace braze
