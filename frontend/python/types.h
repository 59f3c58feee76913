// Making the module's types, and what only the module's own files need of them.
#pragma once

#include "frontend/python/object.h"

namespace braze::python {

PyObject* to_python_bool(bool value);
void add_types(PyObject* module);        // dtype and Size
void add_tensor_type(PyObject* module);  // Tensor
// The classes of braze/_types.py.
void register_python_types(PyObject* device, PyObject* layout, PyObject* memory_format);

}  // namespace braze::python
