// How the engine and Python get along: recorded ops know Python's line, the GIL is free while something is evaluated, Ctrl-C stops
// an evaluation, and what the engine lets go of on some thread is released where the GIL is held.
#pragma once

#include "frontend/python/object.h"

namespace braze::python {

// Lines of files in this folder are not shown: their caller is.
void set_package_folder(const std::string& folder);
void install_hooks();
// Drops a reference from any thread, with or without the GIL.
void release_later(PyObject* object);

}  // namespace braze::python
