// The only file that sees XGBoost's C API.
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tuner/cost/prior.h"

namespace hone {
namespace {

Status checked(int rc, const char* call) {
  if (rc == 0) return absl::OkStatus();
  std::string why = XGBGetLastError();
  return absl::InternalError(fmt::format("XGBoost: {}: {}", call, why.substr(0, why.find('\n'))));
}
#define HONE_XGB(call) HONE_RETURN_IF_ERROR(checked(call, #call))

struct DeleteMatrix {
  void operator()(void* m) const { XGDMatrixFree(m); }
};
struct DeleteBooster {
  void operator()(void* b) const { XGBoosterFree(b); }
};
using DMatrix = std::unique_ptr<void, DeleteMatrix>;
using Booster = std::unique_ptr<void, DeleteBooster>;

StatusOr<DMatrix> make_matrix(const float* values, size_t rows, int columns) {
  DMatrixHandle m = nullptr;
  HONE_XGB(XGDMatrixCreateFromMat(values, rows, static_cast<bst_ulong>(columns), std::numeric_limits<float>::quiet_NaN(), &m));
  return DMatrix(m);
}

class XgbModel final : public CostModel {
 public:
  explicit XgbModel(XgbOptions options) : options_(std::move(options)) {}

  Status fit(const Matrix& rows, const std::vector<float>& scores) override {
    HONE_RETURN_IF_ERROR(check(rows, scores));
    if (!teaches(scores)) return absl::OkStatus();
    HONE_ASSIGN_OR_RETURN(DMatrix data, training_data(rows, scores));
    if (!prior_.empty() && rows.columns != columns_)
      return absl::InvalidArgumentError(fmt::format("cost model: {} features a row, the prior takes {}", rows.columns, columns_));
    HONE_ASSIGN_OR_RETURN(Booster fresh, new_booster(data.get()));
    HONE_RETURN_IF_ERROR(boost(fresh.get(), data.get(), prior_rounds_, options_.rounds));
    booster_ = std::move(fresh);
    columns_ = rows.columns;
    rounds_ = options_.rounds;
    rows_at_fit_ = rows.rows();
    return absl::OkStatus();
  }

  Status update(const Matrix& rows, const std::vector<float>& scores) override {
    // Beyond max_rows the data no longer grows: then refit as if it doubled every so often.
    if (rows_at_fit_ == 0 || rows.columns != columns_ || rows.rows() >= 2 * rows_at_fit_ || rounds_ + options_.update_rounds > 6 * options_.rounds)
      return fit(rows, scores);
    HONE_RETURN_IF_ERROR(check(rows, scores));
    HONE_ASSIGN_OR_RETURN(DMatrix data, training_data(rows, scores));
    HONE_RETURN_IF_ERROR(boost(booster_.get(), data.get(), prior_rounds_ + rounds_, options_.update_rounds));
    rounds_ += options_.update_rounds;
    return absl::OkStatus();
  }

  // All rows of all groups, each scaled to its best and of equal weight.
  Status fit_groups(const std::vector<PriorGroup>& groups, int columns) {
    Matrix all(columns);
    std::vector<float> labels, weights;
    std::vector<unsigned> sizes;
    for (const PriorGroup& g : groups) {
      HONE_RETURN_IF_ERROR(check(g.rows, g.scores));
      if (g.rows.columns != columns) return absl::InvalidArgumentError(fmt::format("prior: {} features a row instead of {}", g.rows.columns, columns));
      if (g.scores.empty() || !teaches(g.scores)) continue;
      all.values.insert(all.values.end(), g.rows.values.begin(), g.rows.values.end());
      append_labels(g.scores, &labels);
      sizes.push_back(static_cast<unsigned>(g.scores.size()));
      weights.push_back(1.0F / static_cast<float>(g.scores.size()));
    }
    if (sizes.empty()) return absl::InvalidArgumentError("prior: no group has two trials of different speed");
    const float mean = std::accumulate(weights.begin(), weights.end(), 0.0F) / static_cast<float>(weights.size());
    for (float& w : weights) w /= mean;
    HONE_ASSIGN_OR_RETURN(DMatrix data, make_matrix(all.values.data(), all.rows(), columns));
    HONE_XGB(XGDMatrixSetFloatInfo(data.get(), "label", labels.data(), labels.size()));
    HONE_XGB(XGDMatrixSetUIntInfo(data.get(), "group", sizes.data(), sizes.size()));
    HONE_XGB(XGDMatrixSetFloatInfo(data.get(), "weight", weights.data(), weights.size()));
    HONE_ASSIGN_OR_RETURN(Booster fresh, new_booster(data.get()));
    HONE_RETURN_IF_ERROR(boost(fresh.get(), data.get(), 0, options_.rounds));
    booster_ = std::move(fresh);
    columns_ = columns;
    return absl::OkStatus();
  }

  bool trained() const override { return booster_ != nullptr; }

  StatusOr<std::vector<float>> predict(const Matrix& rows) const override {
    if (!trained()) return absl::FailedPreconditionError("cost model: predict() before fit()");
    if (rows.columns != columns_)
      return absl::InvalidArgumentError(fmt::format("cost model: {} features a row, trained on {}", rows.columns, columns_));
    if (rows.rows() == 0) return std::vector<float>{};
    HONE_ASSIGN_OR_RETURN(DMatrix data, make_matrix(rows.values.data(), rows.rows(), rows.columns));
    bst_ulong n = 0;
    const float* out = nullptr;
    HONE_XGB(XGBoosterPredict(booster_.get(), data.get(), 0, 0, 0, &n, &out));
    if (n != rows.rows()) return absl::InternalError(fmt::format("XGBoost: {} predictions for {} rows", n, rows.rows()));
    return std::vector<float>(out, out + n);
  }

  StatusOr<std::string> save() const override {
    if (!trained()) return absl::FailedPreconditionError("cost model: save() before fit()");
    bst_ulong n = 0;
    const char* bytes = nullptr;
    HONE_XGB(XGBoosterSaveModelToBuffer(booster_.get(), R"({"format":"ubj"})", &n, &bytes));
    return std::string(bytes, n);
  }

  Status load(std::string_view bytes, int columns) override {
    HONE_ASSIGN_OR_RETURN(Booster loaded, load_booster(bytes));
    bst_ulong width = 0;
    HONE_XGB(XGBoosterGetNumFeature(loaded.get(), &width));
    if (width != static_cast<bst_ulong>(columns))
      return absl::InvalidArgumentError(fmt::format("cost model: the saved one takes {} features a row, not {}", width, columns));
    HONE_XGB(XGBoosterBoostedRounds(loaded.get(), &prior_rounds_));
    booster_ = std::move(loaded);
    prior_ = std::string(bytes);
    columns_ = columns;
    rounds_ = 0;
    rows_at_fit_ = 0;  // the first update() learns all of this session's rows
    return absl::OkStatus();
  }

 private:
  static Status check(const Matrix& rows, const std::vector<float>& scores) {
    if (rows.rows() == scores.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("cost model: {} rows with {} scores", rows.rows(), scores.size()));
  }
  static bool teaches(const std::vector<float>& scores) {
    return std::any_of(scores.begin(), scores.end(), [&](float s) { return s != scores.front(); });
  }

  // Scores as shares of the best one.
  static void append_labels(const std::vector<float>& scores, std::vector<float>* labels) {
    const float top = std::max(1e-30F, *std::max_element(scores.begin(), scores.end()));
    for (const float s : scores) labels->push_back(std::isfinite(s) ? std::clamp(s / top, 0.0F, 1.0F) : 0.0F);
  }

  // All rows, or of too many the best quarter and the latest.
  StatusOr<DMatrix> training_data(const Matrix& rows, const std::vector<float>& scores) const {
    std::vector<size_t> kept(scores.size());
    std::iota(kept.begin(), kept.end(), size_t{0});
    const size_t most = static_cast<size_t>(options_.max_rows);
    if (kept.size() > most) {
      const size_t best = most / 4;
      std::stable_sort(kept.begin(), kept.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
      std::sort(kept.begin() + static_cast<ptrdiff_t>(best), kept.end(), std::greater<>());
      kept.resize(most);
      std::sort(kept.begin(), kept.end());
    }
    Matrix chosen(rows.columns);
    std::vector<float> labels;
    std::vector<float> kept_scores;
    for (size_t i : kept) {
      chosen.add_row(rows.values.data() + i * static_cast<size_t>(rows.columns));
      kept_scores.push_back(scores[i]);
    }
    append_labels(kept_scores, &labels);
    HONE_ASSIGN_OR_RETURN(DMatrix data, make_matrix(chosen.values.data(), chosen.rows(), chosen.columns));
    HONE_XGB(XGDMatrixSetFloatInfo(data.get(), "label", labels.data(), labels.size()));
    const unsigned group = static_cast<unsigned>(labels.size());
    HONE_XGB(XGDMatrixSetUIntInfo(data.get(), "group", &group, 1));
    return data;
  }

  StatusOr<Booster> new_booster(void* data) const {
    if (!prior_.empty()) return load_booster(prior_);
    BoosterHandle handle = nullptr;
    HONE_XGB(XGBoosterCreate(&data, 1, &handle));
    Booster b(handle);
    HONE_RETURN_IF_ERROR(set_parameters(b.get()));
    return b;
  }

  StatusOr<Booster> load_booster(std::string_view bytes) const {
    BoosterHandle handle = nullptr;
    HONE_XGB(XGBoosterCreate(nullptr, 0, &handle));
    Booster b(handle);
    HONE_XGB(XGBoosterLoadModelFromBuffer(b.get(), bytes.data(), bytes.size()));
    HONE_RETURN_IF_ERROR(set_parameters(b.get()));
    return b;
  }

  Status set_parameters(void* booster) const {
    const std::pair<const char*, std::string> parameters[] = {
        {"objective", "rank:pairwise"},
        {"tree_method", "hist"},
        {"max_bin", std::to_string(options_.max_bins)},
        {"max_depth", std::to_string(options_.max_depth)},
        {"eta", fmt::format("{}", options_.learning_rate)},
        {"min_child_weight", "0.1"},
        {"nthread", "1"},  // two threads rank slightly differently from run to run
        {"seed", std::to_string(options_.seed)},
        {"verbosity", "0"},
    };
    for (const auto& [name, value] : parameters) HONE_XGB(XGBoosterSetParam(booster, name, value.c_str()));
    return absl::OkStatus();
  }

  Status boost(void* booster, void* data, int first, int rounds) const {
    for (int i = 0; i < rounds; ++i) {
      HONE_XGB(XGBoosterUpdateOneIter(booster, first + i, data));
      if (options_.between_rounds) options_.between_rounds();
    }
    return absl::OkStatus();
  }

  XgbOptions options_;
  Booster booster_;
  std::string prior_;        // what load() took; empty: none
  int columns_ = 0;
  int prior_rounds_ = 0, rounds_ = 0;
  size_t rows_at_fit_ = 0;   // 0: nothing of this session was learnt yet
};

}  // namespace

StatusOr<std::string> train_prior(const std::vector<PriorGroup>& groups, int columns) {
  XgbModel model{XgbOptions{.max_rows = 0, .max_depth = 6, .rounds = 150, .learning_rate = 0.15}};
  HONE_RETURN_IF_ERROR(model.fit_groups(groups, columns));
  return model.save();
}

std::unique_ptr<CostModel> make_xgb_model(XgbOptions options) { return std::make_unique<XgbModel>(std::move(options)); }

}  // namespace hone
