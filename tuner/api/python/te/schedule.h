// Schedules in Python, their loops and blocks; the primitives are bound in primitives.h.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "tuner/api/python/te/expr.h"

namespace hone::python {

/// Loops and blocks keep their schedule, and are of no other.
struct PyLoop {
  std::shared_ptr<Schedule> schedule;
  LoopRef ref;
};
struct PyBlock {
  std::shared_ptr<Schedule> schedule;
  BlockRef ref;
};

struct PySchedule {
  std::shared_ptr<Schedule> schedule;
  std::shared_ptr<const Definition> definition = nullptr;  ///< null where only the schedule is asked for
};

void bind_schedules(pybind11::module_& m);

}  // namespace hone::python
