// The naive schedule of tensors that Python defines.
#pragma once

#include <pybind11/pybind11.h>

#include "tuner/api/python/te/schedule.h"

namespace hone::python {

/// The schedule for the arguments of te.Schedule: one or several computed tensors; and placeholders in the order in
/// which callers pass them, or None: in the order of reading; and a number for each named size, or None where there is
/// none. TypeError and ValueError for other arguments; UserError if the definition reads an element that is not known
/// to be in its tensor, and for a size without a number.
PySchedule checked_schedule(const pybind11::object& outputs, const pybind11::object& inputs,
                            const pybind11::object& sizes);

}  // namespace hone::python
