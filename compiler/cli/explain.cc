#include "compiler/cli/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/legalize/operation_counts.h"
#include "compiler/codegen/llvm/code_report.h"
#include "compiler/host/arithmetic_peak.h"
#include "compiler/host/machine_roof.h"
#include "compiler/host/measure_here.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/dtypes.h"
#include "compiler/target/occupancy.h"

namespace hone {
namespace {

// 1234567 bytes -> `1.2 MB`
std::string amount(double n, std::string_view unit) {
  static constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T"};
  size_t p = 0;
  while (n >= 999.5 && p + 1 < std::size(kPrefixes)) n /= 1000, ++p;
  return fmt::format("{:.{}f} {}{}", n, p == 0 ? 0 : n < 9.995 ? 2 : n < 99.95 ? 1 : 0, kPrefixes[p], unit);
}

// Bytes of everything that the kernel takes and gives, each once.
double parameter_bytes(const Module& m) {
  double bytes = 0;
  for (const KernelArgument& a : kernel_arguments(m)) bytes += static_cast<double>(a.bytes());
  return bytes;
}

// Returns the floating-point operations executed.
double explain_kernel(const Function& f, const Module& m, const Target& target, std::ostream& out) {
  const OperationCounts counts =
      count_operations(legalize(f.body, m.vector_bits > 0 ? m.vector_bits : target.vector_bits));
  const double bytes = parameter_bytes(m), ops = counts.flops + counts.integer_ops;
  Module alone = m;
  alone.kernels = {f};
  const CodeReport code = report_code(alone, target);
  out << fmt::format("{}\n  operations  {} executed\n", f.name, amount(ops, counts.flops > 0 ? "FLOP" : "op"));
  out << fmt::format(
      "  bytes       {} of parameters, each once; {} of workspace; {} loaded and {} stored by the program\n",
      amount(bytes, "B"), amount(static_cast<double>(m.workspace_bytes), "B"), amount(counts.loaded_bytes, "B"),
      amount(counts.stored_bytes, "B"));
  out << fmt::format("  intensity   {:.1f} operations a byte of the parameters\n", ops / std::max(1.0, bytes));
  out << fmt::format(
      "  code        {} instructions, {} vector FMAs; {} of {} vector registers; {} spills and {} reloads, {} of them "
      "in innermost loops; {} of stack\n",
      code.instructions, code.fmas, code.vector_registers, target.vector_registers, code.spills, code.reloads,
      code.spills_in_loops, amount(static_cast<double>(counts.stack_bytes), "B"));
  return counts.flops;
}

Status explain_time(const Workload& w, const Target& target, const Module& m, double executed, std::ostream& out) {
  MachineRoof roof = machine_roof(target);
  HONE_ASSIGN_OR_RETURN(const HereTime t, time_here(target, m));
  const double bytes = parameter_bytes(m), working_set = bytes + static_cast<double>(m.workspace_bytes);
  // The program counts float operations alone: of int8 products the workload's count.
  if (sums_bytes(w)) executed = flops(w);
  const auto seconds_of = [&](double flops) {
    return std::max(flops / arithmetic_peak(roof, w, target), bytes / roof.level_of(working_set).gb_per_second) * 1e-9;
  };
  // Executed operations are counted with all conditions true, but a padded window skips some; the direct algorithm's
  // count never counts one twice.
  if (seconds_of(std::min(executed, flops(w))) > t.seconds) roof = beaten_roof(target, roof);
  const MachineRoof::Level& level = roof.level_of(working_set);
  const double peak = arithmetic_peak(roof, w, target);
  const double arithmetic = executed / peak * 1e-9, memory = bytes / level.gb_per_second * 1e-9,
               bound = std::max(arithmetic, memory);
  out << fmt::format("time        {} ms (spread {:.0f}%): {:.1f} GFLOPS as {}, {:.1f} GFLOPS executed\n",
                     ms_text(t.seconds), t.spread * 100, flops(w) / t.seconds * 1e-9, w.operator_name(),
                     executed / t.seconds * 1e-9);
  out << fmt::format(
      "roofline    {:.0f}% of what bounds it: {} ms of arithmetic at {:.0f} GFLOPS, {} ms of memory at {:.0f} "
      "GB/s (a working set of {})\n",
      100 * bound / t.seconds, ms_text(arithmetic), peak, ms_text(memory), level.gb_per_second,
      amount(working_set, "B"));
  return absl::OkStatus();
}

void explain_program(const Workload& w, const Target& target, const Space& space, const Config& config, const Module& m,
                     std::ostream& out) {
  out << to_string(w) << "\n"
      << space.describe(config) << "\n\nsteps\n"
      << steps_text(w, target, space, config) << "\nloop form\n"
      << to_string(m) << "\n";
}

// NVRTC's figures for each kernel of a CUDA module; nothing when this machine has no NVRTC.
std::vector<KernelInfo> compiled_kernels(const GpuSource& source, const Target& target) {
  const std::shared_ptr<const Nvrtc> nvrtc = nvrtc_for(target, nvrtc_here());
  if (!nvrtc) return {};
  const auto image = nvrtc->compile(source.text, target.arch);
  return image.ok() ? image->kernels : std::vector<KernelInfo>();
}

void explain_launch(const GpuLaunch& l, const std::vector<KernelInfo>& kernels, const Target& target,
                    std::ostream& out) {
  const int64_t shared = l.shared_bytes + l.shape.dynamic_shared_bytes;
  out << fmt::format("{}\n  launch      {} blocks of {} threads; {} of shared memory a block{}\n", l.kernel,
                     l.shape.blocks, l.shape.threads, amount(static_cast<double>(shared), "B"),
                     l.shape.dynamic_shared_bytes > 0 ? ", asked for at the launch" : "");
  const auto k =
      std::find_if(kernels.begin(), kernels.end(), [&](const KernelInfo& info) { return info.name == l.kernel; });
  if (k == kernels.end() || !k->registers) return;
  out << fmt::format("  code        {} registers a thread; {} spilled\n", *k->registers,
                     amount(static_cast<double>(k->spill_bytes.value_or(0)), "B"));
  out << fmt::format(
      "  occupancy   {} warps at once on a multiprocessor; from {} on it is busy\n",
      resident_warps(target, {.threads = l.shape.threads, .registers = *k->registers, .shared_bytes = shared}),
      least_warps(target));
}

}  // namespace

Status explain_gpu(const Workload& w, const Target& target, const Space& space, const Config& config, const Module& m,
                   Device* gpu, const std::string& why_not, std::ostream& out) {
  explain_program(w, target, space, config, m, out);
  const GpuSource source = gpu_text(m, target);
  const std::vector<KernelInfo> kernels = compiled_kernels(source, target);
  for (const GpuLaunch& l : source.launches) explain_launch(l, kernels, target, out);
  for (const std::string& note : source.notes) out << "note        " << note << "\n";
  const double bytes = parameter_bytes(m);
  out << fmt::format("bytes       {} of parameters, each once; {} of workspace\n", amount(bytes, "B"),
                     amount(static_cast<double>(m.workspace_bytes), "B"));
  out << fmt::format("intensity   {:.1f} operations a byte of the parameters\n", flops(w) / std::max(1.0, bytes));
  if (!gpu) {
    out << "time        not measured: " << why_not << "\n";
    return absl::OkStatus();
  }
  HONE_ASSIGN_OR_RETURN(const HereTime t, time_here(target, m, gpu));
  out << fmt::format("time        {} ms (spread {:.0f}%): {:.1f} GFLOPS as {}, {:.1f} GB/s of the parameters\n",
                     ms_text(t.seconds), t.spread * 100, flops(w) / t.seconds * 1e-9, w.operator_name(),
                     bytes / t.seconds * 1e-9);
  return absl::OkStatus();
}

Status explain(const Workload& w, const Target& target, const Space& space, const Config& config, const Module& m,
               bool runs_here, std::ostream& out) {
  explain_program(w, target, space, config, m, out);
  double executed = 0;
  for (const Function& f : m.kernels) executed += explain_kernel(f, m, target, out);
  if (!runs_here) {
    out << fmt::format("time        not measured: this machine is not '{}'\n", to_string(target));
    return absl::OkStatus();
  }
  return explain_time(w, target, m, executed, out);
}

}  // namespace hone
