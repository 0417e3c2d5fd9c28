// Tensors in Python: placeholders, stages, reductions, scans, and the named sizes of their extents.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "tuner/api/python/te/expr.h"

namespace hone::python {

/// The extents of a tensor as they were written: `m`, `n + 2`, `64`; empty where they are numbers alone.
std::vector<std::string> written_shape(const TensorNode& t);

/// PyTensor, PyReduction and the functions that make them.
void bind_stages(pybind11::module_& m);

}  // namespace hone::python
