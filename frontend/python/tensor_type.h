// What makes up the Python type Tensor beside tensor_type.cpp.
#pragma once

#include "frontend/python/object.h"

namespace braze::python {

// x[key] and x[key] = value; value is null for `del`. (indexing.cpp)
PyObject* get_item(PyObject* self, PyObject* key);
int set_item(PyObject* self, PyObject* key, PyObject* value);

}  // namespace braze::python
