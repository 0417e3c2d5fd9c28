// The naive schedule of tensors that Python defines.
#pragma once

#include <pybind11/pybind11.h>

#include "tuner/api/python/te_schedule.h"

namespace hone::python {

/// What te.Schedule takes: a tensor that is computed or several; placeholders, in the order in which callers pass them,
/// or None: as they are read. TypeError and ValueError for what is none of these; UserError where the definition reads
/// an element that is not known to be one of its tensor's.
PySchedule checked_schedule(const pybind11::object& outputs, const pybind11::object& inputs);

}  // namespace hone::python
