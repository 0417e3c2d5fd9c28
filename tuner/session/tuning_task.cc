#include "tuner/session/tuning_task.h"

#include <utility>

#include "rpc/ir/encode.h"

namespace hone {
namespace {

XgbOptions model_options(uint64_t seed, HostCores& cores) {
  XgbOptions options;
  options.seed = seed;
  options.between_rounds = [&cores] { cores.yield(); };
  return options;
}

}  // namespace

TuningTask::TuningTask(Workload w, const Target& target, const TuningTaskOptions& options, HostCores& cores)
    : workload(std::move(w)),
      weight(options.weight),
      has_warm_constants(options.has_warm_constants),
      text(to_string(workload)),
      label(options.label),
      space(make_space(workload, target, options.narrowing)),
      candidates(
          workload, target, space, cores, [](const Module& m) { return encode(m); }, options.most_features),
      model(make_xgb_model(model_options(options.seed, cores))),
      ranker(
          *model, kFeatureCount,
          [this](const Config& c) {
            const Features* features = candidates.features(c);
            return features ? features->data() : nullptr;
          },
          draft_score, [this](std::span<const Config> configs) { candidates.expect(configs); }),
      seed_(options.seed) {}

Status TuningTask::load_prior(const std::string& prior) { return model->load(prior, kFeatureCount); }

Status TuningTask::begin_search(const std::string& name, std::vector<Config> seeds) {
  SearchOptions options;
  options.seed = seed_;
  options.seeds = std::move(seeds);
  HONE_ASSIGN_OR_RETURN(searcher, make_searcher(name, space, &ranker, options));
  return absl::OkStatus();
}

}  // namespace hone
