// Trials of a database as rows for a cost model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ops/operator.h"
#include "db/store.h"
#include "tuner/cost/prior.h"

namespace hone {

struct TrainGroup {
  std::string workload;
  PriorGroup data;
};

struct TrainRows {
  std::vector<TrainGroup> groups;          ///< in the order of workload, target, device; each with scores that differ
  int64_t trials = 0;                      ///< rows of all groups
  int64_t recomputed = 0;                  ///< rows whose features were computed again
  std::map<std::string, int64_t> skipped;  ///< reason -> trials
};

/// Reads all trials for `target_kind`. A program (module hash) measured more than once is one row, with its
/// confirmation if it has one. At most `most_rows` rows, divided evenly among the groups; beside these only one group's
/// trials are held at a time, and of them at most twice its share for each device.
StatusOr<TrainRows> train_rows(const OperatorTable& operators, db::Store& store, const std::string& target_kind,
                               size_t most_rows);

}  // namespace hone
