// C++'s texts as Python's. Names of models may be any bytes, and a str is Unicode: whatever goes to Python goes through
// here, since pybind11's own conversion raises UnicodeDecodeError instead of passing the text.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

namespace hone::python {

/// Bytes that are no UTF-8 become U+FFFD, as JSON has it.
pybind11::str str_of(std::string_view text);

/// For the module that calls it: Python exceptions that C++ code throws get readable texts, and values that pybind11
/// cannot convert to C++ are TypeErrors, not RuntimeErrors.
void translate_errors();

}  // namespace hone::python
