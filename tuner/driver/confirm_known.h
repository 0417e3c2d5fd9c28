// Confirming: configs that are known from elsewhere (packages, other machines, near workloads) are measured here beside
// the default, so that a build takes what is faster on this machine.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tuner/driver/phase_line.h"
#include "tuner/driver/tasks_file.h"
#include "tuner/driver/tune_services.h"

namespace hone {

/// A workload whose known config was measured here, side by side with the default.
struct ConfirmedTask {
  std::string label, workload;
  double weight = 1;
  double seconds = 0, default_seconds = 0;  ///< medians of the known config and of the default
  bool is_known_taken = false;              ///< the known config is the faster one; else builds take the default
};

struct Confirmations {
  std::vector<ConfirmedTask> tasks;  ///< in the order measured: the dearest first
  size_t known = 0;                  ///< workloads with a config from elsewhere that was not confirmed here before
  size_t failed = 0;                 ///< of them: the config did not build or run here, or had no time
  bool interrupted = false;

  size_t left() const { return known - tasks.size() - failed; }
};

/// Measures the configs that the lookup chain knows for `workloads` and that this tophub has not confirmed, each beside
/// the default, those first whose share of the model's time (WeightedWorkload::seconds_now times weight, else the known
/// time) is the largest, for some two seconds each, until the plan's time is up. Trials go into the store, confirmed,
/// so that the next build takes the faster one. Errors of the database and of the place that measures.
StatusOr<Confirmations> confirm_known(const std::vector<WeightedWorkload>& workloads, const TuneServices& services,
                                      PhaseLine& phase);

}  // namespace hone
