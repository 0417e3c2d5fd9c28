// Definitions in Python as texts, for operators that users define.
#pragma once

#include <pybind11/pybind11.h>

namespace hone::python {

/// `definition(outputs, inputs) -> str`: the text (ops/definition_text.h) of tensors that are computed from
/// placeholders, in the order of `inputs`. Raises as te.Schedule does.
void bind_operators(pybind11::module_& m);

}  // namespace hone::python
