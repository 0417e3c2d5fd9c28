// Kernels to files: one, or several as a library.
#pragma once

#include <pybind11/pybind11.h>

namespace hone::python {

/// save_kernel(kernel, path, what, config, denormals) and save_kernels(path, functions, denormals), where `functions`
/// are (name, [(kernel, what, config), …]). The path's ending, .so, .o or .c, says what is written; a C header
/// comes to lie beside it. `what` and `config` are for people: empty where nothing is known.
void bind_saving(pybind11::module_& m);

}  // namespace hone::python
