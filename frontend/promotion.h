// Type promotion: which dtype an operation computes in. https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
#pragma once

#include <span>

#include "braze/tensor.h"

namespace braze {

// The common dtype of operands: tensors with dims outrank tensors without, which outrank numbers; a lower rank only matters when
// its category (bool < integer < float < complex) is higher.
DType result_type(std::span<const In* const> operands);

// bool 0, integers 1, floats 2, complex 3.
int category(DType type);
int category(Scalar number);

// The dtype that a number has by itself: bool, int64, the default dtype or its complex type.
DType scalar_dtype(Scalar scalar);

// Throws where PyTorch refuses to make `value` an element of `dtype`: out of range, or NaN for an integer. Negative numbers wrap in
// uint8.
void require_convertible(Scalar value, DType dtype);

// The default dtype in place of an integer or bool one; complex ones stay.
DType to_floating(DType type);

}  // namespace braze
