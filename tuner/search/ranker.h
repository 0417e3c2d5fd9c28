// The ranker scores unmeasured configs by a model of the measured ones.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule/space.h"
#include "tuner/cost/cost_model.h"

namespace hone {

/// Features of a config's lowered form, `columns` floats, valid until the next call; null when it cannot be lowered.
using FeatureSource = std::function<const float*(const Config&)>;

class Ranker {
 public:
  virtual ~Ranker() = default;
  /// True when score() has a basis: measurements, a prior, or a draft model.
  virtual bool ready() const = 0;
  /// One number a config, higher is better; -infinity for one that cannot be lowered. As many as `configs`.
  virtual std::vector<float> score(const std::vector<Config>& configs) = 0;
  /// Adds measured configs with their speeds (0: failed).
  virtual void learn(const std::vector<Config>& configs, const std::vector<double>& speeds) = 0;
};

/// Ranks by a cost model over features. Errors of the model are kept for last_error(); the ranker is then not ready,
/// and the search goes on without it.
class ModelRanker final : public Ranker {
 public:
  /// `draft` scores a row of features until the model has learnt something; may be empty. `expect` hears which configs
  /// `features` is asked about next; may be empty.
  ModelRanker(CostModel& model, int columns, FeatureSource features, std::function<float(const float*)> draft = {},
              std::function<void(std::span<const Config>)> expect = {})
      : model_(model),
        columns_(columns),
        features_(std::move(features)),
        draft_(std::move(draft)),
        expect_(std::move(expect)),
        rows_(columns) {}

  bool ready() const override { return (model_.trained() || draft_) && error_.empty(); }
  std::vector<float> score(const std::vector<Config>& configs) override;
  void learn(const std::vector<Config>& configs, const std::vector<double>& speeds) override;

  /// The model's last error, one line; empty when there was none.
  const std::string& last_error() const { return error_; }
  /// Rows of features, in the order learnt.
  const Matrix& rows() const { return rows_; }

 private:
  CostModel& model_;
  int columns_;
  FeatureSource features_;
  std::function<float(const float*)> draft_;
  std::function<void(std::span<const Config>)> expect_;
  Matrix rows_;
  std::vector<float> speeds_;
  std::string error_;
};

}  // namespace hone
