// Which config a build uses: the tophub's best along the lookup chain, else the template's default.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/build/build.h"
#include "db/lookup.h"

namespace hone {

struct ChosenConfig {
  Config config;
  std::string source;   ///< `best (exact workload, confirmed, device …)`, `nearest (…)`, `default`, `given`
  std::string skipped;  ///< one line about rows of other spaces that were passed over; empty when there were none
};

/// Exact workload and target, then the same workload for another target of the kind, then the nearest workload (its
/// config adapted to this space), then the default. Rows of another space fingerprint are never applied as they are; of
/// GPUs, whose spaces differ with every limit of a device, other targets' configs are adapted too. Database errors are
/// passed on.
StatusOr<ChosenConfig> choose_config(const Workload& w, const Target& target, const Space& space, db::TopHub& hub);

/// GPU targets of one kind that are worth trying for `target`, nearest first: of its architecture before others (of
/// those, by the distance of the numbers), then by the ratio of the multiprocessors, then of the shared memory.
std::vector<std::string> rank_gpu_targets(const Target& target, const std::vector<std::string>& known);

/// Known workloads of the same task that differ from `w` in numbers only, nearest first: by the sum of |log2| of the
/// ratios of their attributes.
std::vector<std::string> rank_nearest(const Workload& w, const std::vector<std::string>& known);

}  // namespace hone
