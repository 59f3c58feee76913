// Nested Python data and tensors.
#pragma once

#include "frontend/python/object.h"

namespace braze::python {

// tensor(data, dtype=type): numbers, nests of sequences, NumPy arrays and scalars, tensors. Always a copy. Without a type: bool, int64,
// or the default dtype as soon as a float is among them; NumPy's and tensors' own dtypes count as they are.
Tensor tensor_from_data(PyObject* data, std::optional<DType> type);
// Throws TypeError where there is none.
DType dtype_of_numpy(PyObject* numpy_dtype);
// Nested lists of Python numbers; a number for a tensor without dims.
PyObject* to_list(const Tensor& t);

}  // namespace braze::python
