// PyTorch's container for the Python module's pickles: its storages, and what writes and reads it, over any file of Python's.
#pragma once

#include <nanobind/nanobind.h>

namespace braze::python {

void add_checkpoints(nanobind::module_& m);

}  // namespace braze::python
