#include "tuner/api/python/te/schedule.h"

#include <pybind11/stl.h>

#include <stdexcept>
#include <string>

#include "compiler/ir/printer.h"
#include "compiler/lower/lower_blocks.h"
#include "compiler/schedule/steps_text.h"
#include "tuner/api/python/te/checked_schedule.h"
#include "tuner/api/python/te/primitives.h"
#include "tuner/api/python/te/references.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace {

namespace py = pybind11;

std::string without_last_feed(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void apply(const PySchedule& s, const std::string& record) {
  const std::vector<Step> steps = steps_from_text(record);
  HONE_USER_CHECK(s.definition) << "apply: a schedule without its definition";
  try {
    Schedule trial(s.definition->inputs, s.definition->outputs);
    trial.replay(s.schedule->steps());
    trial.replay(steps);
  } catch (const std::out_of_range&) {
    throw UserError("apply: a step with fewer arguments than it takes");
  }
  s.schedule->replay(steps);
}

}  // namespace

void bind_schedules(py::module_& m) {
  py::class_<PyLoop> loop(m, "Loop", "A loop of a schedule.");
  make_only_whole(loop);
  loop.def_property_readonly(
      "extent", [](const PyLoop& l) { return l.schedule->extent(l.ref); }, "Its iterations.");
  py::class_<PyBlock> block(m, "Block", "A stage of a schedule: what computes one tensor, or a copy.");
  make_only_whole(block);
  block
      .def_property_readonly(
          "loops", [](const PyBlock& b) { return all_made(PySchedule{b.schedule}, b.schedule->loops(b.ref)); },
          "The loops around it, outermost first.")
      .def_property_readonly(
          "buffer", [](const PyBlock& b) { return b.schedule->buffer_of(b.ref); },
          "The name of the buffer that it writes.");
  using S = const PySchedule&;
  using B = const BlockLike&;
  // Each text begins with the signature, in the words that people use.
  py::options texts;
  texts.disable_function_signatures();
  py::class_<PySchedule> schedule(m, "Schedule");
  make_only_whole(schedule);
  schedule
      .def(py::init(&checked_schedule), py::arg("outputs"), py::arg("inputs") = py::none(),
           py::arg("sizes") = py::none(),
           "Schedule(outputs, inputs=None, sizes=None): of a tensor that is computed, or of several.")
      .def("__str__",
           [](S s) {
             const std::string steps = s.schedule->text();
             return steps + (steps.empty() ? "" : "\n") +
                    without_last_feed(to_string(lower_blocks(*s.schedule, Allocation::kWhole)));
           })
      .def_property_readonly(
          "steps", [](S s) { return s.schedule->text(); }, "The primitives so far, a line each.")
      .def_property_readonly(
          "record", [](S s) { return steps_to_text(s.schedule->steps()); },
          "The same as a text that apply() reads, on a schedule of the same definition.")
      .def("apply", &apply, py::arg("record"), R"(apply(record)

Does what a ``record`` of a schedule of the same definition says, as it was recorded or behind what was done already;
loops and blocks have the numbers that they had there. Where a step is refused nothing is changed.)")
      .def(
          "__getitem__", [](S s, B b) { return made(s, block_of(s, b)); }, py::arg("block"))
      .def(
          "loops", [](S s, B b) { return all_made(s, s.schedule->loops(block_of(s, b))); }, py::arg("block"),
          R"(loops(block) -> loops

The loops around a block, outermost first.)")
      .def(
          "loop", [](S s, B b, const std::string& name) { return made(s, s.schedule->loop(block_of(s, b), name)); },
          py::arg("block"), py::arg("name"), R"(loop(block, name) -> loop

The innermost loop of that name around a block.)");
  bind_primitives(schedule);
}

}  // namespace hone::python
