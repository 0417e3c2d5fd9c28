// One workload with everything that its search needs, for the command line and for the layers of a model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"
#include "tuner/cost/cost_model.h"
#include "tuner/measure/candidate.h"
#include "tuner/measure/host_cores.h"
#include "tuner/search/ranker.h"
#include "tuner/search/searcher.h"

namespace hone {

struct TuningTaskOptions {
  std::string label;  ///< its name in progress and reports
  double weight = 1;
  bool has_warm_constants = false;                           ///< as of TaskSetup
  Narrowing narrowing;                                       ///< tune a sub-space
  uint64_t seed = 0;                                         ///< of the cost model and of the search
  size_t most_features = CompiledCandidates::kMostFeatures;  ///< kept at a time
};

/// Not movable: members refer to those above them.
class TuningTask {
 public:
  const Workload workload;
  const double weight;
  const bool has_warm_constants;
  const std::string text, label;
  const Space space;
  CompiledCandidates candidates;
  std::unique_ptr<CostModel> model;
  ModelRanker ranker;
  std::unique_ptr<Searcher> searcher;  ///< null until begin_search(), or until the caller sets its own

  /// UserError where no template serves the workload on `target`. `cores` outlive it.
  TuningTask(Workload w, const Target& target, const TuningTaskOptions& options, HostCores& cores);
  TuningTask(const TuningTask&) = delete;
  TuningTask& operator=(const TuningTask&) = delete;

  /// Sets the model's prior: bytes of CostModel::save(). An error when they are no model.
  Status load_prior(const std::string& prior);
  /// Creates the searcher of that name, which proposes `seeds` first. Usage error for an unknown name.
  Status begin_search(const std::string& name, std::vector<Config> seeds);

 private:
  const uint64_t seed_;
};

}  // namespace hone
