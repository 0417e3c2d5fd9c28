// The extension module hone._te: definitions, schedules, and kernels made of them in this process.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include <optional>

#include "base/check.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/target/gpu_kinds.h"
#include "tuner/api/python/arrays.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/te/expr.h"
#include "tuner/api/python/te/kernel.h"
#include "tuner/api/python/te/knobs.h"
#include "tuner/api/python/te/operator.h"
#include "tuner/api/python/te/primitives.h"
#include "tuner/api/python/te/save.h"
#include "tuner/api/python/te/schedule.h"
#include "tuner/api/python/te/stages.h"
#include "tuner/api/python/te/template.h"
#include "tuner/api/python/text.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace {

namespace py = pybind11;

// The module's code in the GPU's language, and behind it how its kernels are launched.
std::string gpu_source(const Module& m, const std::string& kind) {
  const GpuSource source = emit_gpu(m, kind);
  std::string out = source.text + "\n/* Launches, in order, each after the one before:\n";
  for (const GpuLaunch& l : source.launches)
    out += fmt::format("   {}: {} blocks of {} threads{}\n", l.kernel, l.shape.blocks, l.shape.threads,
                       l.shape.dynamic_shared_bytes > 0
                           ? fmt::format(", {} bytes of dynamic shared memory", l.shape.dynamic_shared_bytes)
                           : "");
  return out + "*/\n";
}

std::string source(const PySchedule& s, const std::string& kind, const std::string& target) {
  const Target t = target_here(target, std::nullopt);
  const Module m = lowered(s, std::max(1, t.threads));
  const CodegenOptions options{.checked_accesses = unproved(m)};
  if (kind == "llvm") return emit_llvm_text(m, t, options);
  if (kind == "asm") return emit_asm_text(m, t, options);
  if (find_gpu_kind(kind)) return gpu_source(m, kind);
  throw py::value_error("source '" + kind + "'; there are llvm, asm, " + of_gpu_kinds(&GpuKind::name, " and "));
}

void set_error(int32_t code, const std::string& text) {
  const py::object error = py::module_::import("hone.errors").attr("error_of")(code, str_of(text));
  PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
}

}  // namespace

PYBIND11_MODULE(_te, m) {
  m.doc() = "Definitions and schedules; use hone.te.";
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const UserError& e) {
      set_error(HONE_BAD_INPUT, e.what());
    } catch (const NoDeviceHere& e) {
      set_error(HONE_NO_GPU, e.what());
    } catch (const InternalError& e) {
      set_error(HONE_INTERNAL, std::string("internal error: ") + e.what() + "; this is a bug: please report it");
    }
  });
  translate_errors();
  bind_expressions(m);
  bind_stages(m);
  bind_schedules(m);
  m.def("primitives", &primitive_rows);
  m.def(
      "lower", [](const PySchedule& s, int threads) { return to_string(lowered(s, threads)); }, py::arg("schedule"),
      py::arg("threads"));
  m.def("source", &source, py::arg("schedule"), py::arg("kind"), py::arg("target"));
  py::class_<Kernel> kernel(m, "Kernel");
  make_only_whole(kernel);
  kernel
      .def(py::init<const PySchedule&, const std::string&, std::optional<int>>(), py::arg("schedule"),
           py::arg("target"), py::arg("threads"))
      .def("__call__",
           [](Kernel& k, const py::args& arguments, const py::kwargs& named) {
             for (const auto& [name, value] : named)
               if (py::cast<std::string>(name) != "out")
                 throw py::type_error(
                     "the kernel takes its arrays in the order of the schedule's inputs, not by name ('" +
                     py::cast<std::string>(name) + "')");
             return k.call(arguments, named.contains("out") ? py::object(named["out"]) : py::none());
           })
      .def("time", &Kernel::time, py::arg("repeats") = 5)
      .def_property_readonly("device", &Kernel::device, "Where it runs, ``'cuda'``; None: the CPU.")
      .def_property_readonly(
          "target", [](const Kernel& k) { return to_string(k.target()); }, "The target that it is compiled for.")
      .def_property_readonly(
          "inputs", [](const Kernel& k) { return k.parameters(false); },
          "Its arguments, in order: the name, the elements' type and the shape of each.")
      .def_property_readonly(
          "outputs", [](const Kernel& k) { return k.parameters(true); }, "Its results, likewise.")
      .def("__str__", &Kernel::text);
  bind_saving(m);
  bind_knobs(m);
  bind_templates(m);
  bind_operators(m);
  py::module_::import("hone.arguments")
      .attr("say_in_one_line")(m, py::make_tuple(m.attr("Schedule"), kernel, m.attr("Knobs")));
}

}  // namespace hone::python
