// The only file that sees XGBoost's C API.
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "tuner/cost/check_model.h"
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
  HONE_XGB(XGDMatrixCreateFromMat(values, rows, static_cast<bst_ulong>(columns),
                                  std::numeric_limits<float>::quiet_NaN(), &m));
  return DMatrix(m);
}

// A batch is held out only where the others have this many rows for each of its own.
constexpr size_t kLeastPerHeldOut = 4;

class XgbModel final : public CostModel {
 public:
  explicit XgbModel(XgbOptions options) : options_(std::move(options)) {}

  Status fit(const Matrix& rows, const std::vector<float>& scores, size_t latest) override {
    HONE_RETURN_IF_ERROR(check(rows, scores));
    if (!teaches(scores)) return absl::OkStatus();
    if (!prior_.empty() && rows.columns != columns_)
      return absl::InvalidArgumentError(
          fmt::format("cost model: {} features a row, the prior takes {}", rows.columns, columns_));
    HONE_ASSIGN_OR_RETURN(const Samples all, samples(rows, scores));
    const size_t held_out = latest * kLeastPerHeldOut <= all.labels.size() ? latest : 0;
    HONE_ASSIGN_OR_RETURN(const DMatrix data, training_data(all, 0, all.labels.size()));
    HONE_ASSIGN_OR_RETURN(Booster fresh, new_booster(data.get()));
    rounds_ = 0;
    if (held_out > 0) {
      const size_t learnt = all.labels.size() - held_out;
      HONE_ASSIGN_OR_RETURN(const DMatrix train, training_data(all, 0, learnt));
      HONE_ASSIGN_OR_RETURN(const DMatrix test, training_data(all, learnt, all.labels.size()));
      HONE_RETURN_IF_ERROR(boost_until_worse(fresh, train.get(), test.get()));
    }
    const int few = static_cast<int>(std::min<size_t>(all.labels.size(), static_cast<size_t>(options_.rounds)));
    HONE_RETURN_IF_ERROR(boost(fresh.get(), data.get(), held_out > 0 ? options_.update_rounds : few));
    booster_ = std::move(fresh);
    columns_ = rows.columns;
    rows_at_fit_ = rows.rows();
    return absl::OkStatus();
  }

  Status update(const Matrix& rows, const std::vector<float>& scores, size_t latest) override {
    // Beyond max_rows the data stops growing: the model is then refitted at intervals as if it had doubled.
    if (rows_at_fit_ == 0 || rows.columns != columns_ || rows.rows() >= 2 * rows_at_fit_ ||
        rounds_ + options_.update_rounds > 4 * options_.rounds)
      return fit(rows, scores, latest);
    HONE_RETURN_IF_ERROR(check(rows, scores));
    HONE_ASSIGN_OR_RETURN(const Samples all, samples(rows, scores));
    HONE_ASSIGN_OR_RETURN(const DMatrix data, training_data(all, 0, all.labels.size()));
    return boost(booster_.get(), data.get(), options_.update_rounds);
  }

  // All rows of all groups, each scaled to its best and of equal weight.
  Status fit_groups(const std::vector<PriorGroup>& groups, int columns) {
    Samples all{Matrix(columns), {}};
    std::vector<float> weights;
    for (const PriorGroup& g : groups) {
      HONE_RETURN_IF_ERROR(check(g.rows, g.scores));
      if (g.rows.columns != columns)
        return absl::InvalidArgumentError(
            fmt::format("prior: {} features a row instead of {}", g.rows.columns, columns));
      if (g.scores.empty() || !teaches(g.scores)) continue;
      all.rows.values.insert(all.rows.values.end(), g.rows.values.begin(), g.rows.values.end());
      append_labels(g.scores, &all.labels);
      weights.resize(all.labels.size(), 1.0F / static_cast<float>(g.scores.size()));
    }
    if (weights.empty()) return absl::InvalidArgumentError("prior: no group has two trials of different speed");
    const float mean = std::accumulate(weights.begin(), weights.end(), 0.0F) / static_cast<float>(weights.size());
    for (float& w : weights) w /= mean;
    HONE_ASSIGN_OR_RETURN(const DMatrix data, training_data(all, 0, all.labels.size()));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] *= weight_of(all.labels[i]);
    HONE_XGB(XGDMatrixSetFloatInfo(data.get(), "weight", weights.data(), weights.size()));
    HONE_ASSIGN_OR_RETURN(booster_, new_booster(data.get()));
    columns_ = columns;
    return boost(booster_.get(), data.get(), options_.rounds);
  }

  bool trained() const override { return booster_ != nullptr; }

  StatusOr<std::vector<float>> predict(const Matrix& rows) const override {
    if (!trained()) return absl::FailedPreconditionError("cost model: predict() before fit()");
    if (rows.columns != columns_)
      return absl::InvalidArgumentError(
          fmt::format("cost model: {} features a row, trained on {}", rows.columns, columns_));
    if (rows.rows() == 0) return std::vector<float>{};
    HONE_ASSIGN_OR_RETURN(const DMatrix data, make_matrix(rows.values.data(), rows.rows(), rows.columns));
    return predictions(booster_.get(), data.get(), rows.rows());
  }

  StatusOr<std::string> save() const override {
    if (!trained()) return absl::FailedPreconditionError("cost model: save() before fit()");
    bst_ulong n = 0;
    const char* bytes = nullptr;
    HONE_XGB(XGBoosterSaveModelToBuffer(booster_.get(), R"({"format":"ubj"})", &n, &bytes));
    return std::string(bytes, n);
  }

  Status load(std::string_view bytes, int columns) override {
    HONE_RETURN_IF_ERROR(check_model(bytes, columns));
    HONE_ASSIGN_OR_RETURN(Booster loaded, load_booster(bytes));
    bst_ulong width = 0;
    HONE_XGB(XGBoosterGetNumFeature(loaded.get(), &width));
    if (width != static_cast<bst_ulong>(columns))
      return absl::InvalidArgumentError(
          fmt::format("cost model: the saved one takes {} features a row, not {}", width, columns));
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

  struct Samples {
    Matrix rows;
    std::vector<float> labels;
  };

  static StatusOr<std::vector<float>> predictions(void* booster, void* data, size_t rows) {
    bst_ulong n = 0;
    const float* out = nullptr;
    HONE_XGB(XGBoosterPredict(booster, data, 0, 0, 0, &n, &out));
    if (n != rows) return absl::InternalError(fmt::format("XGBoost: {} predictions for {} rows", n, rows));
    return std::vector<float>(out, out + n);
  }

  // Scores as shares of the best one.
  static void append_labels(const std::vector<float>& scores, std::vector<float>* labels) {
    const float top = std::max(1e-30F, *std::max_element(scores.begin(), scores.end()));
    for (const float s : scores) labels->push_back(std::isfinite(s) ? std::clamp(s / top, 0.0F, 1.0F) : 0.0F);
  }

  // The top matters most: the order among slow candidates matters little.
  static float weight_of(float label) { return 0.3F + label; }

  // All rows; of too many, the best quarter and the latest.
  StatusOr<Samples> samples(const Matrix& rows, const std::vector<float>& scores) const {
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
    Samples out{Matrix(rows.columns), {}};
    std::vector<float> kept_scores;
    for (size_t i : kept) {
      out.rows.add_row(rows.values.data() + i * static_cast<size_t>(rows.columns));
      kept_scores.push_back(scores[i]);
    }
    append_labels(kept_scores, &out.labels);
    if (!prior_.empty()) HONE_RETURN_IF_ERROR(match_prior(&out));
    return out;
  }

  // The session's best need not be the prior's. Labels are scaled to agree with the prior on average, so that boosting
  // learns differences from it.
  Status match_prior(Samples* samples) const {
    HONE_ASSIGN_OR_RETURN(const Booster prior, load_booster(prior_));
    HONE_ASSIGN_OR_RETURN(const DMatrix data,
                          make_matrix(samples->rows.values.data(), samples->labels.size(), samples->rows.columns));
    HONE_ASSIGN_OR_RETURN(const std::vector<float> expected,
                          predictions(prior.get(), data.get(), samples->labels.size()));
    double both = 0, own = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      both += static_cast<double>(expected[i]) * samples->labels[i],
          own += static_cast<double>(samples->labels[i]) * samples->labels[i];
    const auto scale = static_cast<float>(own > 0 ? std::clamp(both / own, 0.2, 1.2) : 1);
    for (float& label : samples->labels) label *= scale;
    return absl::OkStatus();
  }

  static StatusOr<DMatrix> training_data(const Samples& s, size_t begin, size_t end) {
    HONE_ASSIGN_OR_RETURN(DMatrix data, make_matrix(s.rows.values.data() + begin * static_cast<size_t>(s.rows.columns),
                                                    end - begin, s.rows.columns));
    HONE_XGB(XGDMatrixSetFloatInfo(data.get(), "label", s.labels.data() + begin, end - begin));
    std::vector<float> weights;
    for (size_t i = begin; i < end; ++i) weights.push_back(weight_of(s.labels[i]));
    HONE_XGB(XGDMatrixSetFloatInfo(data.get(), "weight", weights.data(), weights.size()));
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
        {"objective", "reg:squarederror"},
        {"base_score", "0"},
        {"tree_method", "hist"},
        {"max_bin", std::to_string(options_.max_bins)},
        {"max_depth", std::to_string(options_.max_depth)},
        {"eta", fmt::format("{}", options_.learning_rate)},
        {"subsample", fmt::format("{}", options_.row_share)},
        {"colsample_bytree", fmt::format("{}", options_.column_share)},
        {"nthread", "1"},  // two threads rank slightly differently from run to run
        {"seed", std::to_string(options_.seed & INT64_MAX)},
        {"seed_per_iteration", "1"},  // otherwise random draws would depend on other models' activity in between
        {"verbosity", "0"},
    };
    for (const auto& [name, value] : parameters) HONE_XGB(XGBoosterSetParam(booster, name, value.c_str()));
    return absl::OkStatus();
  }

  Status boost(void* booster, void* data, int rounds) {
    for (int i = 0; i < rounds; ++i, ++rounds_) {
      HONE_XGB(XGBoosterUpdateOneIter(booster, prior_rounds_ + rounds_, data));
      if (options_.between_rounds) options_.between_rounds();
    }
    return absl::OkStatus();
  }

  // At most options_.rounds; stops when the error on `test` has not fallen for a while, and drops the rounds after the
  // minimum.
  Status boost_until_worse(Booster& booster, void* train, void* test) {
    double least = std::numeric_limits<double>::infinity();
    const char* name = "test";
    int best = 0;
    for (int i = 0; i < options_.rounds && i - best < options_.patience; ++i) {
      HONE_RETURN_IF_ERROR(boost(booster.get(), train, 1));
      const char* text = nullptr;
      HONE_XGB(XGBoosterEvalOneIter(booster.get(), prior_rounds_ + rounds_, &test, &name, 1, &text));
      const std::string_view line(text);
      const double error = std::strtod(text + line.rfind(':') + 1, nullptr);  // `[12]\ttest-rmse:0.123`
      if (error < least) least = error, best = i;
    }
    BoosterHandle kept = nullptr;
    HONE_XGB(XGBoosterSlice(booster.get(), 0, prior_rounds_ + best + 1, 1, &kept));
    booster.reset(kept);
    rounds_ = best + 1;
    return set_parameters(booster.get());
  }

  XgbOptions options_;
  Booster booster_;
  std::string prior_;  // the model that load() took; empty: none
  int columns_ = 0;
  int prior_rounds_ = 0, rounds_ = 0;
  size_t rows_at_fit_ = 0;  // 0: nothing of this session was learnt yet
};

}  // namespace

StatusOr<std::string> train_prior(const std::vector<PriorGroup>& groups, int columns) {
  XgbModel model{XgbOptions{.max_depth = 6, .rounds = 200}};
  HONE_RETURN_IF_ERROR(model.fit_groups(groups, columns));
  return model.save();
}

std::unique_ptr<CostModel> make_xgb_model(XgbOptions options) { return std::make_unique<XgbModel>(std::move(options)); }

}  // namespace hone
