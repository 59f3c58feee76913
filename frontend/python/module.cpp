// The extension module: types, tables, and the few functions that are not rows.
#include <nanobind/nanobind.h>

#include "frontend/python/generator.h"
#include "frontend/python/signature.h"
#include "frontend/python/types.h"

namespace nb = nanobind;

NB_MODULE(_braze, m) {
  using namespace braze::python;
  try {
    add_types(m.ptr());
    add_tensor_type(m.ptr());
    add_generator(m);
    add_functions(m.ptr());
  } catch (...) {
    translate_exception();
    throw nb::python_error();
  }
  m.def("_register_types", [](nb::handle device, nb::handle layout, nb::handle memory_format) {
    register_python_types(device.ptr(), layout.ptr(), memory_format.ptr());
  });
}
