// One search on a recorded space, by the session loop that tunes for real.
#pragma once

#include <string>

#include "tests/replay/replay.h"
#include "tuner/cost/accuracy.h"
#include "tuner/cost/prior.h"

namespace hone::replay {

struct ReplayOptions {
  std::string searcher = "xgb";
  uint64_t seed = 0;
  std::string prior;     ///< model bytes; empty: none
  size_t trials = 1000;  ///< at most
  size_t batch = 16;
  bool stop_when_found = true;  ///< once a trial is within 1% of the best
};

struct ReplayOutcome {
  size_t within5 = 0, within1 = 0;  ///< trials until one was so near the best; 0: none was
  size_t trials = 0;
  /// Accuracy of the final model on all configs that were not measured; empty without a model.
  Accuracy accuracy;
};

StatusOr<ReplayOutcome> replay_search(const ReplayedSpace& space, const ReplayOptions& options);

/// A recording as a group to train a prior on: of more than `most` configs the fastest tenth and a sample of the
/// others.
PriorGroup prior_group(const Recording& recording, size_t most);

}  // namespace hone::replay
