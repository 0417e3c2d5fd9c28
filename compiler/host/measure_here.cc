#include "compiler/host/measure_here.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/check/inputs.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_gpu.h"
#include "compiler/host/local_kernel.h"
#include "compiler/host/local_reference.h"
#include "compiler/runtime/time_kernel.h"

namespace hone {
namespace {

constexpr double kReferenceBudget = 1e9;  // multiply-adds for each output

std::vector<char> logical_input(const Param& p, size_t index, uint64_t seed) {
  std::vector<char> data(static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
  const Status filled = fill_input(data.data(), p.dtype, element_count(p.shape), seed, static_cast<uint32_t>(index));
  HONE_USER_CHECK(filled.ok()) << message_of(filled);
  return data;
}

// A kernel with its tensors, on the CPU or on a GPU.
class HereKernel {
 public:
  HereKernel(const Module& m, const Target& target, Device* gpu, Denormals denormals = Denormals::kKeep)
      : device_(gpu) {
    if (gpu)
      gpu_ = std::make_unique<LocalGpuKernel>(m, target, *gpu);
    else
      cpu_ = std::make_unique<LocalKernel>(m, target, std::vector<const void*>(), denormals);
  }

  void set_input(size_t i, const void* logical) { gpu_ ? gpu_->set_input(i, logical) : cpu_->set_input(i, logical); }
  std::vector<char> get_output(size_t i) const { return gpu_ ? gpu_->get_output(i) : cpu_->get_output(i); }
  void poison_output(size_t i, DType t) {
    if (cpu_) return poison(cpu_->physical(i).data(), t, cpu_->physical(i).size());
    std::vector<char> bytes(static_cast<size_t>(gpu_->physical_bytes(i)));
    poison(bytes.data(), t, gpu_->physical_bytes(i) / t.bytes());
    gpu_->write_physical(i, bytes.data());
  }
  Status run() {
    if (cpu_) return status_of(cpu_->run());
    HONE_RETURN_IF_ERROR(gpu_->launch());
    return gpu_->wait();
  }
  StatusOr<TimeResult> time(const TimeOptions& options) {
    if (gpu_)
      return time_on_device(
          *device_, [&] { return gpu_->launch(); }, options);
    const SteadyClock clock;
    const PinnedCaller pinned = cpu_->pinned();
    return time_kernel([&] { return cpu_->run_here(); }, options, clock);
  }

 private:
  Device* device_;
  std::unique_ptr<LocalKernel> cpu_;
  std::unique_ptr<LocalGpuKernel> gpu_;
};

}  // namespace

StatusOr<HereTime> time_here(const Target& target, const Module& m, Device* gpu, Denormals denormals, int repeats,
                             double min_repeat_ms) {
  HereKernel kernel(m, target, gpu, denormals);
  for (size_t i = 0; i < m.params.size(); ++i)
    if (m.params[i].role != ParamRole::kOutput) kernel.set_input(i, logical_input(m.params[i], i, 1).data());
  HONE_ASSIGN_OR_RETURN(TimeResult t, kernel.time({.warmup = 2, .repeats = repeats, .min_repeat_ms = min_repeat_ms}));
  const auto [fastest, slowest] = std::minmax_element(t.seconds.begin(), t.seconds.end());
  return HereTime{t.median(), (*slowest - *fastest) / t.median()};
}

HereCheck check_here(const Workload& w, const Target& target, const Module& m, int threads, Device* gpu,
                     Denormals denormals, uint64_t seed) {
  const Definition d = define(w);
  const size_t inputs = d.inputs.size();
  HereKernel kernel(m, target, gpu, denormals);
  // The inputs have no denormals.
  LocalReference reference(d, seed, kReferenceBudget, host_target(threads));
  for (size_t i = 0; i < inputs; ++i) {
    const std::vector<char> data = logical_input(m.params[i], i, seed);
    kernel.set_input(i, data.data());
    reference.set_input(i, data.data());
  }
  for (size_t o = 0; o < reference.outputs(); ++o) kernel.poison_output(inputs + o, m.params[inputs + o].dtype);
  HereCheck result;
  const Status ran = kernel.run(), referenced = reference.run();
  if (!ran.ok() || !referenced.ok()) {
    result.message = message_of(ran.ok() ? referenced : ran);
    return result;
  }
  result.ok = true;
  for (size_t o = 0; o < reference.outputs() && result.ok; ++o) {
    const CheckResult c = reference.compare(o, kernel.get_output(inputs + o).data());
    result.compared += reference.samples(o);
    result.ok = c.ok;
    if (!c.ok)
      result.message = reference.outputs() == 1 ? c.message : fmt::format("'{}': {}", d.outputs[o]->name, c.message);
    result.rel_error = std::max(result.rel_error, c.rel_error);
    result.max_error = std::max(result.max_error, c.max_error);
  }
  return result;
}

}  // namespace hone
