// `tophub train`: a prior from the trials of a database.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "compiler/ops/operator.h"
#include "db/cli/training.h"
#include "db/store.h"

namespace hone {

struct TrainOptions {
  OperatorTable operators = standard_operators();
  std::string target_kind = "llvm";
  int64_t now_ms = 0;         ///< Unix time, for the record
  int64_t least_trials = 64;  ///< fewer are an error
  size_t most_rows = 60'000;  ///< over all groups; of larger ones the best rows and a sample of the others are used
};

/// Learns from the trials of `store` for one kind of target. A group consists of trials that can be compared: one
/// workload, one target, one model of device. Features are those stored with a trial when their schema is this
/// program's; otherwise they are computed again where the trial's template is unchanged; trials with neither are
/// skipped and counted. Accuracy is measured on groups whose workload was left out of the training. Too few trials are
/// a usage error that says how many there were.
StatusOr<db::Training> train_from(db::Store& store, const TrainOptions& options);

}  // namespace hone
