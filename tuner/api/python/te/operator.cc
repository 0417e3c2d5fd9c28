#include "tuner/api/python/te/operator.h"

#include "compiler/ops/definition_text.h"
#include "tuner/api/python/te/checked_schedule.h"
#include "tuner/api/python/text.h"

namespace hone::python {

void bind_operators(pybind11::module_& m) {
  namespace py = pybind11;
  m.def(
      "definition",
      [](const py::object& outputs, const py::object& inputs) {
        const PySchedule s = checked_schedule(outputs, inputs, py::none());
        return str_of(definition_to_text(*s.definition));
      },
      py::arg("outputs"), py::arg("inputs"));
}

}  // namespace hone::python
