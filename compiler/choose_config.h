// Which config a build uses: the tophub's best along the lookup chain, else the template's default.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/build.h"
#include "db/lookup.h"

namespace hone {

struct ChosenConfig {
  Config config;
  std::string source;  ///< `best (exact workload, confirmed, device …)`, `nearest (…)`, `default`, `given`
  std::string skipped; ///< one line about rows of other spaces that were passed over; empty when there were none
};

/// Exact workload and target, then the same workload for another target of the kind, then the nearest workload (its config adapted to this
/// space), then the default. Rows of another space fingerprint are never applied. Database errors are passed on.
StatusOr<ChosenConfig> choose_config(const Workload& w, const Target& target, const Space& space, db::TopHub& hub);

/// Known workloads of the same task that differ from `w` in numbers only, nearest first: by the sum of |log2| of the ratios of their attributes.
std::vector<std::string> rank_nearest(const Workload& w, const std::vector<std::string>& known);

}  // namespace hone
