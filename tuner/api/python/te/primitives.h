// The primitives as methods of te.Schedule. Parameters and texts are those of compiler/schedule/primitive_table.h.
#pragma once

#include <pybind11/pybind11.h>

#include "tuner/api/python/te/schedule.h"

namespace hone::python {

void bind_primitives(pybind11::class_<PySchedule>& schedule);

/// The table, a dict for each row, whose keys are the names of PrimitiveRow's members; parameters are pairs of a name
/// and a default or None. For the site, which shows limits too, and for tests.
pybind11::list primitive_rows();

}  // namespace hone::python
