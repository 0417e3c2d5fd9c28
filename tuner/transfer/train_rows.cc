#include "tuner/transfer/train_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "base/key.h"
#include "compiler/build/build.h"
#include "tuner/features/stored.h"

namespace hone {
namespace {

// Fewer trials say more about chance than about the workload.
constexpr size_t kLeastRows = 8;

// One workload on one target as this program knows them; candidates are lowered for trials of the same space.
class Lowering {
 public:
  Lowering(const OperatorTable& operators, const std::string& workload, const std::string& target) {
    try {
      workload_ = Workload::parse(operators, workload), target_ = Target::parse(target);
      space_ = std::make_unique<Space>(make_space(*workload_, *target_));
    } catch (const UserError&) {
      // The trial's version knew other tasks or targets: it cannot be lowered here.
    }
  }

  bool has_space() const { return space_ != nullptr; }
  // The same template and revision: a config still means the same, in a narrowed space as well.
  bool knows(const db::TrialRow& trial) const {
    return space_ && trial.template_name == space_->template_name() && trial.template_revision == space_->revision();
  }
  std::optional<Features> features(const std::string& config) const try {
    return features_of(lower_config(*workload_, *target_, *space_, space_->parse(config)), *target_);
  } catch (const std::exception&) {
    return std::nullopt;
  }

 private:
  std::optional<Workload> workload_;
  std::optional<Target> target_;
  std::unique_ptr<Space> space_;
};

// One program on one device: its features as stored, or the config to compute them from if the row is kept.
struct Row {
  std::string program;  // its hash
  std::optional<Features> features;
  std::string config, missing;  // null features: lowered later; the reason
  float score = 0;
  bool confirmed = false;
};

// The trials of one workload and target, one by one. Never holds more than twice `share` rows a device.
class Gatherer {
 public:
  Gatherer(const OperatorTable& operators, std::string workload, std::string target, size_t share, TrainRows* out)
      : operators_(operators), workload_(std::move(workload)), target_(std::move(target)), share_(share), out_(out) {}

  void add(const db::TrialRow& trial) {
    if (trial.status == "device_lost" || trial.status == "cancelled") return skip("not measured");
    if (trial.module_hash.empty()) return skip("their config could not be lowered");
    Row fresh{trial.module_hash, {}, {}, {}};
    if (!read_features(trial, &fresh)) return;
    // Disturbed times are compared with disturbed times only, as if they were of another device.
    Device& device = devices_[trial.device_model + (trial.disturbed ? ", disturbed" : "")];
    if (device.rows.size() >= 2 * share_) thin_out(&device);
    const auto [it, is_new] = device.by_program.try_emplace(trial.module_hash, device.rows.size());
    if (is_new)
      device.rows.push_back(std::move(fresh));
    else if (std::optional<Features>& known = device.rows[it->second].features; !known)
      known = fresh.features;
    Row& row = device.rows[it->second];
    if (row.confirmed && !trial.confirmed) return;
    row.confirmed = trial.confirmed;
    // A censored time is a lower bound, and still says that it is slow.
    row.score = trial.seconds ? static_cast<float>(1 / *trial.seconds) : 0.0F;
  }

  void finish() {
    for (auto& [name, device] : devices_) {
      thin_out(&device);
      const int64_t recomputed = lower_missing(&device);
      if (device.rows.empty()) continue;
      const bool differ = std::any_of(device.rows.begin(), device.rows.end(),
                                      [&device = device](const Row& r) { return r.score != device.rows[0].score; });
      if (device.rows.size() < kLeastRows || !differ) {
        skip("of a workload on a target with too few trials to compare", device.rows.size());
        continue;
      }
      TrainGroup group{workload_, PriorGroup{Matrix(kFeatureCount), {}}};
      for (const Row& r : device.rows) {
        group.data.rows.add_row(r.features->data());
        group.data.scores.push_back(r.score);
      }
      out_->recomputed += recomputed;
      out_->trials += static_cast<int64_t>(device.rows.size());
      out_->groups.push_back(std::move(group));
    }
  }

  const OperatorTable& operators_;
  const std::string workload_, target_;

 private:
  struct Device {
    std::vector<Row> rows;
    std::unordered_map<std::string, size_t> by_program;
  };

  void skip(const std::string& reason, size_t n = 1) { out_->skipped[reason] += static_cast<int64_t>(n); }

  // False when the trial has no features and none can be computed; that is counted.
  bool read_features(const db::TrialRow& trial, Row* row) {
    if (trial.features)
      if (auto stored = stored_features(*trial.features, feature_set(target_kind(target_))); stored.ok()) {
        row->features = *stored;
        return true;
      }
    if (!lowering_) lowering_ = std::make_unique<Lowering>(operators_, workload_, target_);
    row->missing = trial.features ? "their features are of another schema" : "they have no features";
    row->config = trial.config;
    if (lowering_->knows(trial)) return true;
    skip(row->missing + (lowering_->has_space() ? " and their template has changed"
                                                : " and their workload or target is not known here"));
    return false;
  }

  // If there are too many rows, it keeps the best quarter, which the search is about, and of the others those with the
  // smallest hashes: a sample that is independent of how often and when rows are dropped.
  void thin_out(Device* device) {
    std::vector<Row>& rows = device->rows;
    if (rows.size() <= share_) return;
    std::vector<size_t> order(rows.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto others = order.begin() + static_cast<std::ptrdiff_t>(share_ / 4),
               end = order.begin() + static_cast<std::ptrdiff_t>(share_);
    const auto smaller = [&](size_t a, size_t b) { return rows[a].program < rows[b].program; };
    std::nth_element(order.begin(), others, order.end(), [&](size_t a, size_t b) {
      return rows[a].score != rows[b].score ? rows[a].score > rows[b].score : smaller(a, b);
    });
    std::nth_element(others, end, order.end(), smaller);
    skip("left out of large groups to bound the time", rows.size() - share_);
    std::sort(order.begin(), end);
    std::vector<Row> kept;
    for (auto it = order.begin(); it != end; ++it) kept.push_back(std::move(rows[*it]));
    rows = std::move(kept);
    device->by_program.clear();
    for (size_t i = 0; i < rows.size(); ++i) device->by_program.emplace(rows[i].program, i);
  }

  // Computes missing features; returns how many could be computed.
  int64_t lower_missing(Device* device) {
    int64_t lowered = 0;
    for (Row& row : device->rows) {
      if (row.features) continue;
      row.features = lowering_->features(row.config);
      if (row.features)
        ++lowered;
      else
        skip(row.missing + " and their config cannot be lowered now");
    }
    std::erase_if(device->rows, [](const Row& r) { return !r.features; });
    return lowered;
  }

  const size_t share_;
  TrainRows* out_;
  std::map<std::string, Device> devices_;
  std::unique_ptr<Lowering> lowering_;
};

}  // namespace

StatusOr<TrainRows> train_rows(const OperatorTable& operators, db::Store& store, const std::string& target_kind,
                               size_t most_rows) {
  TrainRows out;
  HONE_ASSIGN_OR_RETURN(const int64_t groups, store.trials().count_groups(target_kind, kLeastRows));
  const size_t share = std::max(kLeastRows, most_rows / static_cast<size_t>(std::max<int64_t>(1, groups)));
  std::unique_ptr<Gatherer> gatherer;
  HONE_RETURN_IF_ERROR(store.trials().for_each_sorted([&](const db::TrialRow& trial) {
    if (hone::target_kind(trial.target) != target_kind) return absl::OkStatus();
    if (!gatherer || gatherer->workload_ != trial.workload || gatherer->target_ != trial.target) {
      if (gatherer) gatherer->finish();
      gatherer = std::make_unique<Gatherer>(operators, trial.workload, trial.target, share, &out);
    }
    gatherer->add(trial);
    return absl::OkStatus();
  }));
  if (gatherer) gatherer->finish();
  return out;
}

}  // namespace hone
