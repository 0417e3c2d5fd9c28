// A prior: a cost model trained offline on the trials of other workloads and devices, for sessions to boost upon.
#pragma once

#include <string>
#include <vector>

#include "tuner/cost/cost_model.h"

namespace hone {

/// Trials that can be compared with each other: those of one workload on one target.
struct PriorGroup {
  Matrix rows;  ///< features
  /// One score a row: higher is faster, 0 for a candidate that failed; only ratios within the group matter.
  std::vector<float> scores;
};

/// Trains on all groups, each of equal weight regardless of its size; the bytes are for CostModel::load().
/// Deterministic. InvalidArgument when a group is not `columns` wide, or when none has two rows of different scores.
StatusOr<std::string> train_prior(const std::vector<PriorGroup>& groups, int columns);

}  // namespace hone
