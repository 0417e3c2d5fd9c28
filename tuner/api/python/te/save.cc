#include "tuner/api/python/te/save.h"

#include <pybind11/stl.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/build/denormals.h"
#include "compiler/build/library.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/te/kernel.h"

namespace hone::python {
namespace {

namespace py = pybind11;

void check(const Status& status) { HONE_USER_CHECK(status.ok()) << message_of(status); }

std::string said_or_outputs(const Kernel& kernel, const std::string& what) {
  return what.empty() ? "definition(" + kernel.output_names() + ")" : what;
}

ModuleFiles files_at(const py::object& path, const Target& target, const std::string& denormals) {
  if (denormals != "zero" && denormals != "keep")
    throw py::value_error("denormals: '" + denormals + "'; there are zero and keep");
  ModuleFiles files{.target = target, .host = host_target(1)};
  files.path = py::module_::import("os").attr("fspath")(path).cast<std::string>();
  if (files.path.find('\0') != files.path.npos)
    throw py::value_error("there is a NUL behind '" + files.path.substr(0, files.path.find('\0')) + "'");
  const std::string end = std::filesystem::path(files.path).extension();
  files.form = end == ".so" ? "so" : end == ".o" ? "obj" : end == ".c" && !target.is_gpu() ? "c" : "";
  HONE_USER_CHECK(!files.form.empty()) << "'" << files.path << "' ends with none of .so, .o"
                                       << (target.is_gpu() ? "" : ", .c") << ", which say what is written";
  files.name = entry_name(files.path, 'k');
  const bool keeps = denormals == "keep" || target.is_gpu();
  files.denormals = denormals_for(keeps ? Denormals::kKeep : Denormals::kZero, target);
  return files;
}

void save_kernel(const Kernel& kernel, const py::object& path, const std::string& what, const std::string& config,
                 const std::string& denormals) {
  ModuleFiles files = files_at(path, kernel.target(), denormals);
  files.what = said_or_outputs(kernel, what);
  files.config = config;
  const Module& m = kernel.shippable();
  const NoGil no_gil;
  check(write_module(m, files, make_module(m, files)));
}

using Variants = std::vector<std::tuple<const Kernel*, std::string, std::string>>;

// But for the number of threads, which variants may differ in.
bool are_of_one_target(Target a, Target b) {
  a.threads = b.threads = 1;
  return a == b;
}

void save_kernels(const py::object& path, const std::vector<std::pair<std::string, Variants>>& given,
                  const std::string& denormals) {
  std::vector<LibraryFunction> functions;
  const Target* target = nullptr;
  for (const auto& [name, variants] : given) {
    functions.push_back({name, {}});
    for (const auto& [kernel, what, config] : variants) {
      if (!target) target = &kernel->target();
      HONE_USER_CHECK(are_of_one_target(*target, kernel->target()))
          << "'" << name << "' is for '" << to_string(kernel->target()) << "', others are for '" << to_string(*target)
          << "': kernels of one file are for one target";
      functions.back().variants.push_back({kernel->shippable(), said_or_outputs(*kernel, what), config});
    }
  }
  HONE_USER_CHECK(target) << "no kernel is given";
  ModuleFiles files = files_at(path, *target, denormals);
  files.what = "Several functions";
  const NoGil no_gil;
  check(write_library(functions, files));
}

}  // namespace

void bind_saving(py::module_& m) {
  m.def("save_kernel", &save_kernel, py::arg("kernel"), py::arg("path"), py::arg("what"), py::arg("config"),
        py::arg("denormals"));
  m.def("save_kernels", &save_kernels, py::arg("path"), py::arg("functions"), py::arg("denormals"));
}

}  // namespace hone::python
