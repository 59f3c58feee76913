// braze.Generator, and the functions that seed the default one.
#pragma once

#include <nanobind/nanobind.h>

#include "braze/random.h"

namespace braze::python {

void add_generator(nanobind::module_& m);
bool is_generator(PyObject* p);
// Null for None: the default generator.
Generator* generator_or_none(PyObject* p);

}  // namespace braze::python
