// Whether this processor takes a detour for denormal numbers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_kernel.h"
#include "tests/fakes/workloads.h"

namespace hone {

/// A run that takes this many times as long has met detours, which cost 150 cycles for each multiply-add. Programs that
/// run beside it mostly make less of a difference.
inline constexpr double kDetour = 4;

/// Found with products of ones and planted denormal numbers, and of ones. (Those of two denormal numbers are 0, which
/// processors with detours find without one.) Where a processor takes none (or, of other
/// operations than multiply-adds of f32, other ones), times with and without denormal numbers tell nothing.
inline bool takes_detours() {
  static const bool takes = [] {
    constexpr int kTurns = 7;
    constexpr uint32_t kDenormal = 0x00010001, kOne = 0x3f800000;
    const Workload w = parse_workload("dense(m=12,n=64,k=256)");
    const Target target = host_target(1);
    const Space space = make_space(w, target);
    LocalKernel kernel(lower_config(w, target, space, space.default_config()), target);
    const auto seconds = [&](uint32_t element) {
      const std::vector<uint32_t> a(12 * 256, kOne), b(64 * 256, element);
      kernel.set_input(0, a.data());
      kernel.set_input(1, b.data());
      double least = 1;
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto before = std::chrono::steady_clock::now();
        kernel.run();
        least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
      }
      return least;
    };
    return seconds(kDenormal) > kDetour * seconds(kOne);
  }();
  return takes;
}

}  // namespace hone
