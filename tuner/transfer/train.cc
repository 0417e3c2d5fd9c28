#include "tuner/transfer/train.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/exit_code.h"
#include "compiler/build/build.h"
#include "tuner/cost/accuracy.h"
#include "tuner/features/features.h"
#include "tuner/transfer/train_rows.h"

namespace hone {
namespace {

// Workloads are divided into this many parts, each predicted by a model of the others: three cost twice the training
// itself.
constexpr size_t kParts = 3;

struct Mean {
  double sum = 0;
  int n = 0;
  void add(const std::optional<double>& x) {
    if (x) sum += *x, ++n;
  }
  std::optional<double> value() const { return n > 0 ? std::optional(sum / n) : std::nullopt; }
};

StatusOr<Accuracy> accuracy_on(const CostModel& model, const PriorGroup& group) {
  HONE_ASSIGN_OR_RETURN(const std::vector<float> predicted, model.predict(group.rows));
  std::vector<Guess> guesses;
  for (size_t i = 0; i < predicted.size(); ++i) guesses.push_back({predicted[i], group.scores[i]});
  return accuracy_of(guesses);
}

// Sets held_out and the accuracies of `prior`; leaves them empty when there is only one workload.
Status hold_out(const std::vector<TrainGroup>& groups, db::PriorRow* prior) {
  std::set<std::string> workloads;
  for (const TrainGroup& g : groups) workloads.insert(g.workload);
  const size_t parts = std::min(kParts, workloads.size());
  if (parts < 2) return absl::OkStatus();
  const auto part_of = [&](const TrainGroup& g) {
    return static_cast<size_t>(std::distance(workloads.begin(), workloads.find(g.workload))) % parts;
  };
  Mean pairwise, peak1, peak5;
  for (size_t part = 0; part < parts; ++part) {
    std::vector<PriorGroup> others;
    for (const TrainGroup& g : groups)
      if (part_of(g) != part) others.push_back(g.data);
    HONE_ASSIGN_OR_RETURN(const std::string bytes, train_prior(others, kFeatureCount));
    const std::unique_ptr<CostModel> model = make_xgb_model();
    HONE_RETURN_IF_ERROR(model->load(bytes, kFeatureCount));
    for (const TrainGroup& g : groups) {
      if (part_of(g) != part) continue;
      HONE_ASSIGN_OR_RETURN(const Accuracy accuracy, accuracy_on(*model, g.data));
      pairwise.add(accuracy.pairwise);
      peak1.add(accuracy.peak1);
      peak5.add(accuracy.peak5);
      ++prior->held_out;
    }
  }
  prior->pairwise = pairwise.value(), prior->peak1 = peak1.value(), prior->peak5 = peak5.value();
  return absl::OkStatus();
}

}  // namespace

StatusOr<db::Training> train_from(db::Store& store, const TrainOptions& options) {
  HONE_ASSIGN_OR_RETURN(const TrainRows rows,
                        train_rows(options.operators, store, options.target_kind, options.most_rows));
  db::Training out;
  std::set<std::string> workloads;
  for (const TrainGroup& g : rows.groups) workloads.insert(g.workload);
  out.workloads = static_cast<int64_t>(workloads.size());
  out.recomputed = rows.recomputed;
  for (const auto& [reason, n] : rows.skipped) out.skipped_trials += n;
  out.skipped_because = absl::StrJoin(rows.skipped, "; ", [](std::string* because, const auto& skipped) {
    *because += fmt::format("{} {}", skipped.second, skipped.first);
  });
  if (rows.trials < options.least_trials)
    return usage_error(fmt::format(
        "train: {} has {} usable trials for {} targets, a prior needs at least {}; tune a few workloads first{}",
        store.path(), rows.trials, options.target_kind, options.least_trials,
        out.skipped_because.empty() ? "" : " (skipped: " + out.skipped_because + ")"));
  db::PriorRow& prior = out.prior;
  prior.target_kind = options.target_kind;
  prior.schema = feature_schema(feature_set(options.target_kind)).hex();
  prior.hone_version = hone_version();
  prior.created_at = options.now_ms;
  prior.groups = static_cast<int64_t>(rows.groups.size());
  prior.trials = rows.trials;
  HONE_RETURN_IF_ERROR(hold_out(rows.groups, &prior));
  std::vector<PriorGroup> all;
  for (const TrainGroup& g : rows.groups) all.push_back(g.data);
  HONE_ASSIGN_OR_RETURN(prior.model, train_prior(all, kFeatureCount));
  return out;
}

}  // namespace hone
