// Memory shared with NumPy and DLPack.
#pragma once

#include "frontend/python/object.h"

namespace braze::python {

PyObject* to_capsule(const Tensor& tensor);  // of DLPack; the storage stays shared until its consumer is done
Tensor from_capsule(PyObject* capsule);      // uses the capsule up
// (address of the first element, a token that keeps the memory shared).
PyObject* export_memory(const Tensor& tensor);
// `owner` lives as long as the tensor's storage. Strides in elements.
Tensor import_memory(std::uintptr_t address, const Sizes& sizes, const Sizes& strides, DType type, PyObject* owner, bool writable);

}  // namespace braze::python
