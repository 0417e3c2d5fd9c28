// The extension module hone._te: definitions, schedules, and kernels made of them in this process.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/time_kernel.h"
#include "compiler/target/gpu_kinds.h"
#include "tuner/api/python/arrays.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/te_expr.h"
#include "tuner/api/python/te_primitives.h"
#include "tuner/api/python/te_schedule.h"
#include "tuner/api/python/text.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace {

namespace py = pybind11;

Module lowered(const PySchedule& s, int threads) {
  Module m = lower(*s.schedule, {.workers = threads});
  verify(m);
  return m;
}

Target target_here(const std::string& text, std::optional<int> threads) {
  const int most = usable_cpu_count();
  if (threads && (*threads < 1 || *threads > 1024)) throw py::value_error("threads: 1 to 1024");
  Target t = parse_target(text);
  if (!t.is_gpu()) t = t.completed_by(host_target(most));
  if (threads && !t.is_gpu()) t.threads = *threads;
  return t;
}

std::vector<const void*> unproved(const Module& m) {
  std::vector<const void*> out;
  for (const Unproved& u : verify(m)) out.push_back(u.node);
  return out;
}

std::string source(const PySchedule& s, const std::string& kind, const std::string& target) {
  const Target t = target_here(target, std::nullopt);
  const Module m = lowered(s, std::max(1, t.threads));
  const CodegenOptions options{.checked_accesses = unproved(m)};
  if (kind == "llvm") return emit_llvm_text(m, t, options);
  if (kind == "asm") return emit_asm_text(m, t, options);
  if (const GpuKind* gpu = find_gpu_kind(kind)) return emit_gpu(m, gpu->dialect).text;
  throw py::value_error("source '" + kind + "'; there are llvm, asm, " + of_gpu_kinds(&GpuKind::name, " and "));
}

// A kernel of this process. Calls take turns.
class Kernel {
 public:
  Kernel(const PySchedule& s, const std::string& target, std::optional<int> threads)
      : process_(getpid()), target_(target_here(target, threads)), module_(lowered(s, target_.threads)) {
    HONE_USER_CHECK(!target_.is_gpu()) << "kernels are built for CPUs here; source() has a GPU's text";
    const Target here = host_target(target_.threads);
    HONE_USER_CHECK(target_.arch == here.arch && target_.mcpu == here.mcpu)
        << "the target is not this machine, which is " << to_string(here);
    const NoGil no_gil;
    kernel_ = std::make_unique<LocalKernel>(module_, target_, unproved(module_));
  }
  // In the child of a fork() its threads do not exist, and cannot be waited for.
  ~Kernel() {
    if (getpid() != process_) (void)kernel_.release();
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  py::object call(const py::args& arguments) {
    const std::vector<Argument> inputs = as_inputs(arguments);
    std::vector<std::vector<char>> results;
    {
      const NoGil no_gil;
      const std::lock_guard lock(mutex_);
      run_on(inputs);
      for (const size_t i : numbers_of(true)) results.push_back(kernel_->get_output(i));
    }
    py::list outputs;
    for (const size_t i : numbers_of(true)) {
      const Argument a = new_output(described(i));
      const std::vector<char>& result = results[outputs.size()];
      std::copy(result.begin(), result.end(), static_cast<char*>(a.tensor.data));
      outputs.append(module_.params[i].dtype.is_bool() ? a.owner.attr("view")("bool") : a.owner);
    }
    return outputs.size() == 1 ? py::object(outputs[0]) : py::object(py::tuple(outputs));
  }

  double time(const py::args& arguments, int repeats) {
    if (repeats < 1 || repeats > 100000) throw py::value_error("repeats: 1 to 100000");
    const std::vector<Argument> inputs = as_inputs(arguments);
    const NoGil no_gil;
    const std::lock_guard lock(mutex_);
    run_on(inputs);
    const PinnedCaller here = kernel_->pinned();
    const SteadyClock clock;
    const auto timed = time_kernel([&] { return kernel_->run_here(); }, {.warmup = 2, .repeats = repeats}, clock);
    HONE_USER_CHECK(timed.ok()) << message_of(timed.status());
    return timed->median();
  }

  py::list parameters(bool outputs) const {
    py::list out;
    for (const Param& p : module_.params)
      if ((p.role == ParamRole::kOutput) == outputs)
        out.append(py::make_tuple(p.name, numpy_name(p.dtype), py::tuple(py::cast(p.shape))));
    return out;
  }
  std::string text() const { return to_string(module_); }

 private:
  HoneParam described(size_t i) const {
    const Param& p = module_.params[i];
    HoneParam out{};
    out.name = p.name.c_str();
    out.plain = {dlpack_type(p.dtype), static_cast<int32_t>(p.shape.size()), p.shape.data()};
    return out;
  }
  std::vector<size_t> numbers_of(bool outputs) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < module_.params.size(); ++i)
      if ((module_.params[i].role == ParamRole::kOutput) == outputs) out.push_back(i);
    return out;
  }
  std::vector<Argument> as_inputs(const py::args& arguments) const {
    const std::vector<size_t> numbers = numbers_of(false);
    if (arguments.size() != numbers.size())
      throw py::type_error("the kernel takes " + std::to_string(numbers.size()) + " arrays, given are " +
                           std::to_string(arguments.size()));
    std::vector<Argument> out;
    CopyCount ignored;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Param& p = module_.params[numbers[i]];
      const IsWanted is_wanted = [&](const std::vector<int64_t>& shape) { return shape == p.shape; };
      out.push_back(as_input(arguments[i], described(numbers[i]), is_wanted, &ignored));
      if (out.back().shape == p.shape) continue;
      const auto told = [](const std::vector<int64_t>& shape) {
        return py::str(py::tuple(py::cast(shape))).cast<std::string>();
      };
      throw py::value_error("'" + p.name + "' is of shape " + told(p.shape) + ", given is " + told(out.back().shape));
    }
    return out;
  }
  // Without the GIL, and with the lock.
  void run_on(const std::vector<Argument>& inputs) {
    HONE_USER_CHECK(getpid() == process_)
        << "the kernel was built before a fork(): its threads are the parent's; build it"
           " here";
    const std::vector<size_t> numbers = numbers_of(false);
    for (size_t i = 0; i < numbers.size(); ++i) kernel_->set_input(numbers[i], inputs[i].tensor.data);
    const int32_t code = kernel_->run();
    HONE_USER_CHECK(code != HONE_FAULT) << "the kernel reads or writes out of a tensor's bounds";
    HONE_USER_CHECK(code == HONE_OK) << "the kernel returned " << code;
  }

  const pid_t process_;
  const Target target_;
  const Module module_;
  std::unique_ptr<LocalKernel> kernel_;
  std::mutex mutex_;
};

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
    } catch (const InternalError& e) {
      set_error(HONE_INTERNAL, std::string("internal error: ") + e.what() + "; this is a bug: please report it");
    }
  });
  translate_errors();
  bind_expressions(m);
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
      .def(
          "__call__",
          [](Kernel& k, const py::args& arguments, const py::kwargs& named) {
            if (!named.empty())
              throw py::type_error("the kernel takes its arrays in the order of the schedule's inputs, not by name ('" +
                                   py::cast<std::string>(named.begin()->first) + "')");
            return k.call(arguments);
          })
      .def("time", &Kernel::time, py::arg("repeats") = 5)
      .def_property_readonly(
          "inputs", [](const Kernel& k) { return k.parameters(false); },
          "What it takes, in order: the name, the elements' type and the shape of each.")
      .def_property_readonly(
          "outputs", [](const Kernel& k) { return k.parameters(true); }, "What it returns, likewise.")
      .def("__str__", &Kernel::text);
  py::module_::import("hone.arguments").attr("say_in_one_line")(m, py::make_tuple(m.attr("Schedule"), kernel));
}

}  // namespace hone::python
