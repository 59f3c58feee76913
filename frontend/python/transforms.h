// Function transforms as Python sees them: on flat lists of tensors; braze/func.py nests and unnests.
#pragma once

#include <nanobind/nanobind.h>

namespace braze::python {

void add_transforms(nanobind::module_& m);

}  // namespace braze::python
