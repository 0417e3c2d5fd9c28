// Runs a config's kernel in this process: times it, and compares it with the reference.
#pragma once

#include "base/status.h"
#include "compiler/build/build.h"
#include "compiler/ir/denormals.h"
#include "compiler/runtime/device.h"

namespace hone {

struct HereTime {
  double seconds = 0;  ///< median of the repeats
  double spread = 0;   ///< (slowest - fastest) / median
};
/// `repeats` repeats of at least `min_repeat_ms`, after a warm-up, on seeded inputs. On `gpu`, by its clock, where it
/// is not null. `denormals` of CPUs.
StatusOr<HereTime> time_here(const Target& target, const Module& m, Device* gpu = nullptr,
                             Denormals denormals = kUsualDenormals, int repeats = 10, double min_repeat_ms = 5);

struct HereCheck {
  bool ok = false;
  std::string message;  ///< when not ok: index, got, expected
  double rel_error = 0, max_error = 0;
  int64_t compared = 0;  ///< elements
};
/// Compares with the reference, which the CPU computes (on `threads` threads); `gpu` as above, `denormals` of CPUs.
HereCheck check_here(const Workload& w, const Target& target, const Module& m, int threads, Device* gpu = nullptr,
                     Denormals denormals = Denormals::kKeep, uint64_t seed = 1);

}  // namespace hone
