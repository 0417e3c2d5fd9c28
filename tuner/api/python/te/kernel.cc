#include "tuner/api/python/te/kernel.h"

#include <absl/strings/str_join.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/cpus.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/host/local_gpu.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/time_kernel.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/te/expr.h"
#include "tuner/api/python/te/stages.h"

namespace hone::python {
namespace {

namespace py = pybind11;

void check(const Status& status) { HONE_USER_CHECK(status.ok()) << message_of(status); }

double median_of(const StatusOr<TimeResult>& timed) {
  check(timed.status());
  return timed->median();
}

// `written`: the extents as the definition has them.
void check_shape(const Param& p, const std::vector<int64_t>& given, const std::vector<std::string>& written) {
  if (given == p.shape) return;
  const auto told = [](const std::vector<int64_t>& shape) {
    return py::str(py::tuple(py::cast(shape))).cast<std::string>();
  };
  const std::string named = written.empty() ? "" : "(" + absl::StrJoin(written, ", ") + ") = ";
  throw py::value_error("'" + p.name + "' is of shape " + named + told(p.shape) + ", given is " + told(given));
}

class OnCpu final : public KernelRunner {
 public:
  OnCpu(const Module& m, const Target& target) : kernel_(m, target, unproved(m)) {}
  void set_input(size_t i, const void* logical) override { kernel_.set_input(i, logical); }
  std::vector<char> get_output(size_t i) override { return kernel_.get_output(i); }
  void run() override {
    const int32_t code = kernel_.run();
    HONE_USER_CHECK(code != HONE_FAULT) << "the kernel reads or writes out of a tensor's bounds";
    HONE_USER_CHECK(code == HONE_OK) << "the kernel returned " << code;
  }
  double time(int repeats) override {
    const PinnedCaller here = kernel_.pinned();
    return median_of(time_kernel([&] { return kernel_.run_here(); }, {.warmup = 2, .repeats = repeats}, SteadyClock()));
  }

 private:
  LocalKernel kernel_;
};

class OnGpu final : public KernelRunner {
 public:
  OnGpu(const Module& m, LocalGpu gpu) : gpu_(std::move(gpu)), kernel_(m, gpu_.target, *gpu_.device) {}
  void set_input(size_t i, const void* logical) override { kernel_.set_input(i, logical); }
  std::vector<char> get_output(size_t i) override { return kernel_.get_output(i); }
  void run() override {
    check(kernel_.launch());
    check(kernel_.wait());
  }
  double time(int repeats) override {
    return median_of(time_on_device(*gpu_.device, [&] { return kernel_.launch(); }, {.warmup = 2, .repeats = repeats}));
  }

 private:
  LocalGpu gpu_;
  LocalGpuKernel kernel_;
};

}  // namespace

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

Kernel::Kernel(const PySchedule& s, const std::string& target, std::optional<int> threads)
    : process_(getpid()), target_(target_here(target, threads)) {
  if (s.definition) {
    for (const auto& [tensor, role] : s.definition->inputs) written_shapes_.push_back(written_shape(*tensor.node()));
    for (const Tensor& t : s.definition->outputs) written_shapes_.push_back(written_shape(*t.node()));
  }
  if (!target_.is_gpu()) {
    const Target here = host_target(target_.threads);
    module_ = lowered(s, target_.threads);
    if (target_.arch != here.arch || target_.mcpu != here.mcpu) {
      elsewhere_ = "the kernel is for another machine than this one, which is " + to_string(here);
      return;
    }
    const NoGil no_gil;
    runner_ = std::make_unique<OnCpu>(module_, target_);
    return;
  }
  module_ = lowered(s, 1);
  HONE_USER_CHECK(unproved(module_).empty())
      << "an index that is data is not checked on a GPU: bound it by te.minimum and te.maximum";
  const NoGil no_gil;
  auto gpu = open_local_gpu(target_);
  if (!gpu.ok()) {
    elsewhere_ = message_of(gpu.status());
    if (!target_.is_complete()) throw NoDeviceHere(elsewhere_);
    (void)emit_gpu(module_, target_.kind);  // has it a form as such code?
    return;
  }
  target_ = gpu->target;
  runner_ = std::make_unique<OnGpu>(module_, *std::move(gpu));
}

void Kernel::check_is_here() const {
  if (runner_) return;
  const std::string text = elsewhere_ + ": save() writes a file for " + to_string(target_);
  if (target_.is_gpu()) throw NoDeviceHere(text);
  throw UserError(text);
}

// In the child of a fork() its threads do not exist, and cannot be waited for.
Kernel::~Kernel() {
  if (getpid() != process_) (void)runner_.release();
}

py::object Kernel::call(const py::args& arguments, const py::object& out) {
  check_is_here();
  const std::vector<Argument> inputs = as_inputs(arguments);
  const std::vector<Argument> given = as_outputs(out);
  std::vector<std::vector<char>> results;
  {
    const NoGil no_gil;
    const std::lock_guard lock(mutex_);
    set_inputs(inputs);
    runner_->run();
    for (const size_t i : numbers_of(true)) results.push_back(runner_->get_output(i));
  }
  py::list outputs;
  for (const size_t i : numbers_of(true)) {
    const size_t n = outputs.size();
    const Argument a = given.empty() ? new_output(described(i)) : given[n];
    std::copy(results[n].begin(), results[n].end(), static_cast<char*>(a.tensor.data));
    const bool is_view = given.empty() && module_.params[i].dtype.is_bool();
    outputs.append(is_view ? a.owner.attr("view")("bool") : a.given ? a.given : a.owner);
  }
  return outputs.size() == 1 ? py::object(outputs[0]) : py::object(py::tuple(outputs));
}

double Kernel::time(const py::args& arguments, int repeats) {
  check_is_here();
  if (repeats < 1 || repeats > 100000) throw py::value_error("repeats: 1 to 100000");
  const std::vector<Argument> inputs = as_inputs(arguments);
  const NoGil no_gil;
  const std::lock_guard lock(mutex_);
  set_inputs(inputs);
  runner_->run();
  return runner_->time(repeats);
}

const Module& Kernel::shippable() const {
  HONE_USER_CHECK(unproved(module_).empty())
      << "an index that is data is not checked in a file: bound it by te.minimum and te.maximum";
  return module_;
}

std::string Kernel::output_names() const {
  std::string out;
  for (const size_t i : numbers_of(true)) out += (out.empty() ? "" : ", ") + module_.params[i].name;
  return out;
}

py::list Kernel::parameters(bool outputs) const {
  py::list out;
  for (const Param& p : module_.params)
    if ((p.role == ParamRole::kOutput) == outputs)
      out.append(py::make_tuple(p.name, numpy_name(p.dtype), py::tuple(py::cast(p.shape))));
  return out;
}

py::object Kernel::device() const { return target_.is_gpu() ? py::object(py::str(target_.kind)) : py::none(); }

std::string Kernel::text() const { return to_string(module_); }

HoneParam Kernel::described(size_t i) const {
  const Param& p = module_.params[i];
  HoneParam out{};
  out.name = p.name.c_str();
  out.plain = {dlpack_type(p.dtype), static_cast<int32_t>(p.shape.size()), p.shape.data()};
  return out;
}

std::vector<size_t> Kernel::numbers_of(bool outputs) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < module_.params.size(); ++i)
    if ((module_.params[i].role == ParamRole::kOutput) == outputs) out.push_back(i);
  return out;
}

std::vector<Argument> Kernel::as_inputs(const py::args& arguments) const {
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
    check_shape(p, out.back().shape, written_shapes_[numbers[i]]);
  }
  return out;
}

std::vector<Argument> Kernel::as_outputs(const py::object& out) const {
  if (out.is_none()) return {};
  const std::vector<size_t> numbers = numbers_of(true);
  const bool is_one = numbers.size() == 1 && !py::isinstance<py::tuple>(out) && !py::isinstance<py::list>(out);
  const py::tuple all = is_one ? py::make_tuple(out) : py::tuple(out);
  if (all.size() != numbers.size())
    throw py::type_error("out: the kernel has " + std::to_string(numbers.size()) + " outputs, given are " +
                         std::to_string(all.size()));
  std::vector<Argument> arguments;
  for (size_t n = 0; n < numbers.size(); ++n) {
    const Param& p = module_.params[numbers[n]];
    const py::object array = all[n];
    // Bools are bytes to the kernel.
    const bool is_bool =
        p.dtype.is_bool() && py::hasattr(array, "dtype") && py::str(array.attr("dtype")).equal(py::str("bool"));
    arguments.push_back(as_output(is_bool ? py::object(array.attr("view")("uint8")) : array, described(numbers[n])));
    arguments.back().given = array;
    check_shape(p, arguments.back().shape, written_shapes_[numbers[n]]);
  }
  return arguments;
}

// Without the GIL, and with the lock.
void Kernel::set_inputs(const std::vector<Argument>& inputs) {
  HONE_USER_CHECK(getpid() == process_)
      << "the kernel was built before a fork(): its threads are the parent's; build it here";
  const std::vector<size_t> numbers = numbers_of(false);
  for (size_t i = 0; i < numbers.size(); ++i) runner_->set_input(numbers[i], inputs[i].tensor.data);
}

}  // namespace hone::python
