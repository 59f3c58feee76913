// Autograd as Python sees it; braze/autograd holds what is written in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace braze::python {

void add_autograd(nanobind::module_& m);

}  // namespace braze::python
