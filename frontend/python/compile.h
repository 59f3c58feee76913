// braze.compile: functions of Python that C++ records, and what a trace of one depends on in Python (braze/_watch.py).
#pragma once

#include <nanobind/nanobind.h>

namespace braze::python {

void add_compile(nanobind::module_& m);

}  // namespace braze::python
