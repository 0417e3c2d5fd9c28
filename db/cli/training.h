// The report of `tophub train`.
#pragma once

#include <string>

#include "db/rows.h"

namespace hone::db {

/// The outcome of `train`.
struct Training {
  PriorRow prior;
  int64_t workloads = 0;   ///< among its groups
  int64_t recomputed = 0;  ///< trials whose features were computed again
  int64_t skipped_trials = 0;
  std::string skipped_because;  ///< reasons with their counts, one line; empty when nothing was skipped
};

}  // namespace hone::db
