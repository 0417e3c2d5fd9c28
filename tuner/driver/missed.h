// The workloads that builds asked a team's tophub for in vain.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/ops/operator.h"
#include "compiler/target/target.h"
#include "db/team/remote_hub.h"
#include "tuner/driver/tasks_file.h"

namespace hone {

/// How many workloads one session takes at most: each has a search of its own in memory.
inline constexpr size_t kMostMissed = 64;

struct Missed {
  std::vector<WeightedWorkload> workloads;  ///< weighted by how often they were asked for, the most often first
  size_t other_targets = 0;                 ///< misses for targets that the place does not measure
  size_t unknown = 0;                       ///< misses of operators that this version, or only their users, know
  size_t later = 0;                         ///< misses beyond kMostMissed
};

/// Asks the service. Its errors.
StatusOr<Missed> missed_workloads(const OperatorTable& operators, const Target& target, db::RemoteHub& hub);

}  // namespace hone
