// Whether the configs that the GPU templates propose fit a GPU: random configs of each workload, compiled by NVRTC. How
// many do not compile or could not be launched, how many spill, and how many warps of a multiprocessor they leave room
// for; and how well the search estimates their registers beforehand. Needs no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>

#include "base/cli.h"
#include "base/exit_code.h"
#include "compiler/build/build.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/gpu/nvrtc.h"
#include "compiler/target/occupancy.h"
#include "tests/bench/kernel_workloads.h"
#include "tests/fakes/workloads.h"
#include "tuner/features/gpu_summary.h"

namespace {

using namespace hone;

// The result of a config: the worst of its kernels.
struct Fit {
  std::string refused;  // by compiler or device; empty: it can be launched
  int64_t spilled = 0;  // bytes of a thread
  int registers = 0;
  double estimate = 0;  // of them, as the search's features have it
  int64_t warps = 64;   // that fit a multiprocessor at once
};

Fit fit_of(const Workload& w, const Target& target, const Space& space, const Config& config, const Nvrtc& nvrtc) {
  Fit fit;
  const Module m = lower_config(w, target, space, config);
  fit.estimate = nest::gpu_summary(m, nest::nests_of(m), target).registers;
  const GpuSource source = emit_gpu(m, "cuda");
  const auto image = nvrtc.compile(source.text, target.arch);
  if (!image.ok()) {
    fit.refused = std::string(image.status().message().substr(0, 200));
    return fit;
  }
  for (const GpuLaunch& launch : source.launches) {
    const auto kernel = std::find_if(image->kernels.begin(), image->kernels.end(),
                                     [&](const KernelInfo& k) { return k.name == launch.kernel; });
    const int registers = kernel == image->kernels.end() ? 255 : kernel->registers.value_or(255);
    const int64_t warps = resident_warps(
        target, {launch.shape.threads, registers, launch.shared_bytes + launch.shape.dynamic_shared_bytes});
    if (kernel != image->kernels.end()) fit.spilled += kernel->spill_bytes.value_or(0);
    fit.registers = std::max(fit.registers, registers);
    fit.warps = std::min(fit.warps, warps);
    if (warps == 0)
      fit.refused =
          fmt::format("no block fits: {} threads of {} registers, {} bytes of shared memory", launch.shape.threads,
                      registers, launch.shared_bytes + launch.shape.dynamic_shared_bytes);
  }
  return fit;
}

struct Total {
  int64_t configs = 0, refused = 0, spill = 0, few = 0;
  std::vector<std::pair<double, double>> registers;  // estimated, real
  void add(const Total& t) {
    configs += t.configs, refused += t.refused, spill += t.spill, few += t.few;
    registers.insert(registers.end(), t.registers.begin(), t.registers.end());
  }
};

// Share of the pairs of configs whose registers differ that the estimate puts in the right order.
double ordered(const std::vector<std::pair<double, double>>& registers) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < registers.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const double real = registers[i].second - registers[j].second,
                   estimated = registers[i].first - registers[j].first;
      if (real == 0) continue;
      ++pairs;
      right += real * estimated > 0 ? 1 : estimated == 0 ? 0.5 : 0;
    }
  return pairs == 0 ? 1 : right / pairs;
}

void print_row(const std::string& name, const Total& t, double seconds) {
  const auto percent = [&](int64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(std::max<int64_t>(1, t.configs));
  };
  fmt::print("{:6} {:8} {:9.1f}% {:9.1f}% {:9.1f}% {:9.2f} {:8.1f}\n", name, t.configs, percent(t.refused),
             percent(t.spill), percent(t.few), ordered(t.registers), seconds);
  std::cout.flush();
}

struct Options {
  std::string target = "cuda -arch=sm_90", prefix, dtype, layout;
  std::vector<std::string> only;
  int configs = 40;
  uint64_t seed = 1;
  bool verbose = false;
};

Status run(const Options& o) {
  const Target target = Target::parse(o.target);
  const auto nvrtc = Nvrtc::load({.arch = target.arch});
  if (!nvrtc.ok()) return no_device_error(message_of(nvrtc.status()));
  fmt::print("{}, NVRTC {}\n{:6} {:>8} {:>10} {:>10} {:>10} {:>9} {:>8}\n", to_string(target), (*nvrtc)->version(), "",
             "configs", "refused", "spill", "few warps", "ordered", "s");
  Total all;
  for (const bench::NamedWorkload& named : bench::fixed_workloads()) {
    const bool wanted = o.only.empty() ? std::string("CDMB").find(named.name[0]) != std::string::npos
                                       : std::find(o.only.begin(), o.only.end(), named.name) != o.only.end();
    if (!wanted) continue;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::pair<std::string, std::string>> changes;
    if (!o.dtype.empty()) changes.emplace_back("dtype", o.dtype);
    if (!o.layout.empty()) changes.emplace_back("layout", o.layout);
    const Workload w = Workload::changed(named.workload, changes);
    const Space space = make_space(w, target);
    std::mt19937_64 rng(o.seed);
    Total total;
    for (int tries = 0; total.configs < o.configs && tries < 100 * o.configs; ++tries) {
      const auto config = space.sample(rng);
      if (!config) break;
      const std::string text = space.print(*config);
      if (!text.starts_with(o.prefix)) continue;
      const Fit fit = fit_of(w, target, space, *config, **nvrtc);
      ++total.configs;
      total.refused += !fit.refused.empty();
      total.spill += fit.spilled > 0;
      total.few += fit.refused.empty() && fit.warps < least_warps(target);
      if (fit.refused.empty()) total.registers.emplace_back(fit.estimate, fit.registers);
      if (o.verbose)
        fmt::print("{} {} registers ({:.0f} estimated), {} bytes spilled, {} warps {}{}\n", named.name, fit.registers,
                   fit.estimate, fit.spilled, fit.warps, text, fit.refused.empty() ? "" : ": " + fit.refused);
    }
    print_row(named.name, total, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    all.add(total);
  }
  print_row("all", all, 0);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CommandLine line(
      "The share of random configs that do not compile or launch, that spill, that leave a multiprocessor few warps.",
      "bench_gpu_fit");
  line.add_option("--target", o.target, "a cuda target");
  line.add_option("--only", o.only, "C6, D1, ... (default: C, D, M and B)");
  line.add_option("--configs", o.configs, "of each workload");
  line.add_option("--seed", o.seed);
  line.add_option("--prefix", o.prefix, "only configs whose text begins with it");
  line.add_option("--dtype", o.dtype, "instead of the workloads' own: f16, u8:s8:s32:s32, ...");
  line.add_option("--layout", o.layout, "instead of the convolutions' own: NHWC, ...");
  line.add_flag("--verbose", o.verbose, "each config");
  return run_cli(line, argc, argv, [&] { return run(o); });
}
