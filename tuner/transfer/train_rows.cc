#include "tuner/transfer/train_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "compiler/build.h"
#include "tuner/features/stored.h"

namespace hone {
namespace {

// Fewer tell more about chance than about the workload.
constexpr size_t kLeastRows = 8;

// One workload on one target as this program knows them; what it lowers stands for trials of the same space.
class Lowering {
 public:
  Lowering(const std::string& workload, const std::string& target) try : workload_(Workload::parse(workload)), target_(Target::parse(target)) {
    space_ = std::make_unique<Space>(make_space(workload_, target_));
  } catch (const UserError&) {
    // Of a version that knew other tasks: nothing can be lowered.
  }

  // The same template and revision: what a config says still means the same, in a narrowed space as well.
  bool knows(const db::TrialRow& trial) const { return space_ && trial.template_name == space_->template_name() && trial.template_revision == space_->revision(); }
  std::optional<Features> features(const std::string& config) const try {
    return features_of(lower_config(workload_, target_, *space_, space_->parse(config)), target_);
  } catch (const std::exception&) {
    return std::nullopt;
  }

 private:
  Workload workload_;
  Target target_;
  std::unique_ptr<Space> space_;
};

struct Row {
  std::optional<Features> features;
  float score = 0;
  bool confirmed = false, recomputed = false;
};

// The trials of one workload and target, as they come.
class Gatherer {
 public:
  Gatherer(std::string workload, std::string target, TrainRows* out) : workload_(std::move(workload)), target_(std::move(target)), out_(out) {}

  void add(const db::TrialRow& trial) {
    if (trial.status == "device_lost" || trial.status == "cancelled") return skip("not measured");
    if (trial.module_hash.empty()) return skip("their config could not be lowered");
    Device& device = devices_[trial.device_model];
    const auto [it, fresh] = device.by_config.try_emplace(trial.config, device.rows.size());
    if (fresh) device.rows.emplace_back();
    Row& row = device.rows[it->second];
    if (!row.features) {
      std::string why_not;
      row.features = features_of(trial, &row.recomputed, &why_not);
      if (!row.features) return skip(why_not);
    }
    if (row.confirmed && !trial.confirmed) return;
    row.confirmed = trial.confirmed;
    // A censored time is a lower bound, and still says that it is slow.
    row.score = trial.seconds ? static_cast<float>(1 / *trial.seconds) : 0.0F;
  }

  void finish() {
    for (auto& [name, device] : devices_) {
      std::erase_if(device.rows, [](const Row& r) { return !r.features; });
      if (device.rows.empty()) continue;
      const bool differ = std::any_of(device.rows.begin(), device.rows.end(), [&](const Row& r) { return r.score != device.rows[0].score; });
      if (device.rows.size() < kLeastRows || !differ) {
        out_->skipped["of a workload on a target with too few trials to compare"] += static_cast<int64_t>(device.rows.size());
        continue;
      }
      TrainGroup group{workload_, PriorGroup{Matrix(kFeatureCount), {}}};
      for (const Row& r : device.rows) {
        group.data.rows.add_row(r.features->data());
        group.data.scores.push_back(r.score);
        out_->recomputed += r.recomputed;
      }
      out_->trials += static_cast<int64_t>(device.rows.size());
      out_->groups.push_back(std::move(group));
    }
  }

  const std::string workload_, target_;

 private:
  struct Device {
    std::vector<Row> rows;
    std::unordered_map<std::string, size_t> by_config;
  };

  void skip(const std::string& reason) { ++out_->skipped[reason]; }

  std::optional<Features> features_of(const db::TrialRow& trial, bool* recomputed, std::string* why_not) {
    if (trial.features)
      if (auto stored = stored_features(*trial.features); stored.ok()) return *stored;
    if (!lowering_) lowering_ = std::make_unique<Lowering>(workload_, target_);
    const std::string missing = trial.features ? "their features are of another schema" : "they have no features";
    if (!lowering_->knows(trial)) {
      *why_not = missing + " and their template has changed";
      return std::nullopt;
    }
    *recomputed = true;
    const std::optional<Features> again = lowering_->features(trial.config);
    if (!again) *why_not = missing + " and their config cannot be lowered now";
    return again;
  }

  TrainRows* out_;
  std::map<std::string, Device> devices_;
  std::unique_ptr<Lowering> lowering_;
};

// Of too many rows the best quarter, which the search is about, and an even choice of the others.
void thin_out(PriorGroup* group, size_t most) {
  const size_t n = group->scores.size();
  if (n <= most) return;
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return group->scores[a] > group->scores[b]; });
  const size_t best = most / 4, others = most - best;
  std::vector<size_t> kept(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best));
  for (size_t i = 0; i < others; ++i) kept.push_back(order[best + i * (n - best) / others]);
  PriorGroup thin{Matrix(group->rows.columns), {}};
  for (const size_t i : kept) {
    thin.rows.add_row(group->rows.values.data() + i * static_cast<size_t>(group->rows.columns));
    thin.scores.push_back(group->scores[i]);
  }
  *group = std::move(thin);
}

}  // namespace

StatusOr<TrainRows> train_rows(db::Store& store, const std::string& target_kind, size_t most_rows) {
  TrainRows out;
  std::unique_ptr<Gatherer> gatherer;
  HONE_RETURN_IF_ERROR(store.trials().for_each_sorted([&](const db::TrialRow& trial) {
    if (db::target_kind(trial.target) != target_kind) return absl::OkStatus();
    if (!gatherer || gatherer->workload_ != trial.workload || gatherer->target_ != trial.target) {
      if (gatherer) gatherer->finish();
      gatherer = std::make_unique<Gatherer>(trial.workload, trial.target, &out);
    }
    gatherer->add(trial);
    return absl::OkStatus();
  }));
  if (gatherer) gatherer->finish();
  for (TrainGroup& g : out.groups) {
    const size_t before = g.data.scores.size();
    thin_out(&g.data, std::max(kLeastRows, most_rows / out.groups.size()));
    if (const size_t left_out = before - g.data.scores.size(); left_out > 0) {
      out.trials -= static_cast<int64_t>(left_out);
      out.skipped["left out of large groups to bound the time"] += static_cast<int64_t>(left_out);
    }
  }
  return out;
}

}  // namespace hone
