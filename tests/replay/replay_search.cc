#include "tests/replay/replay_search.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tuner/session/session.h"

namespace hone::replay {
namespace {

struct Quiet final : Progress {
  void show(const Snapshot&) override {}
  void end() override {}
};

double speed(const Recording& r, const RecordedConfig& c) { return c.seconds > 0 ? r.flops / c.seconds * 1e-9 : 0; }

}  // namespace

StatusOr<ReplayOutcome> replay_search(const ReplayedSpace& space, const ReplayOptions& options) {
  XgbOptions model_options;
  model_options.seed = options.seed;
  const std::unique_ptr<CostModel> model = make_xgb_model(model_options);
  if (!options.prior.empty()) HONE_RETURN_IF_ERROR(model->load(options.prior, kFeatureCount));
  ReplayedCandidates candidates(space);
  ModelRanker ranker(
      *model, kFeatureCount,
      [&](const Config& c) {
        const Features* f = candidates.features(c);
        return f ? f->data() : nullptr;
      },
      draft_score);
  SearchOptions search;
  search.seed = options.seed;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Searcher> searcher,
                        make_searcher(options.searcher, space.space(), &ranker, search));
  ReplayedMeasurer measurer(space);
  ReplayedLog log;
  NoCoreSharing cores;
  Quiet progress;
  const SteadyClock clock;
  const Recording& r = space.recording();
  const auto found = [&] { return options.stop_when_found && log.trials_to(space.best_seconds() * 1.01) > 0 ? 2 : 0; };
  const std::vector<TaskSetup> tasks{{r.workload, r.target, "", r.flops, 1, space.space(), candidates, *searcher}};
  const SessionServices services{measurer, log, cores, progress, clock, [] { return int64_t{0}; }, found};
  SessionOptions session;
  session.trials = options.trials;
  session.batch = options.batch;
  session.searcher = options.searcher;
  HONE_RETURN_IF_ERROR(run_tasks(tasks, services, session).status());
  ReplayOutcome out;
  out.within5 = log.trials_to(space.best_seconds() * 1.05);
  out.within1 = log.trials_to(space.best_seconds() * 1.01);
  out.trials = log.seconds.size();
  // A searcher without a model: the knowledge that a model would have learnt from its trials.
  if (ranker.rows().rows() == 0) {
    std::vector<Config> measured;
    std::vector<double> speeds;
    for (const std::string& text : log.configs) {
      measured.push_back(space.space().parse(text));
      speeds.push_back(speed(r, *space.find(measured.back())));
    }
    ranker.learn(measured, speeds);
  }
  std::vector<Config> configs;
  std::vector<Guess> guesses;
  for (size_t i = 0; i < r.configs.size(); ++i) {
    if (log.configs.count(space.space().print(space.config(i)))) continue;
    configs.push_back(space.config(i));
    guesses.push_back({0, speed(r, r.configs[i])});
  }
  const std::vector<float> scores = ranker.score(configs);
  for (size_t i = 0; i < scores.size(); ++i) guesses[i].predicted = scores[i];
  out.accuracy = accuracy_of(guesses);
  return out;
}

PriorGroup prior_group(const Recording& r, size_t most) {
  std::vector<size_t> order(r.configs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return speed(r, r.configs[a]) > speed(r, r.configs[b]); });
  std::mt19937_64 rng(1);
  for (size_t i = std::min(order.size(), order.size() / 10); i < order.size(); ++i)
    std::swap(order[i], order[i + static_cast<size_t>(rng() % (order.size() - i))]);
  order.resize(std::min(order.size(), most));
  PriorGroup out{Matrix(kFeatureCount), {}};
  for (const size_t i : order) {
    out.rows.add_row(r.configs[i].features.data());
    out.scores.push_back(static_cast<float>(speed(r, r.configs[i])));
  }
  return out;
}

}  // namespace hone::replay
