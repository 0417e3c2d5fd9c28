// A cost model learns from measured candidates which of two unmeasured ones is the faster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hone {

/// Rows of equal width, row-major.
struct Matrix {
  int columns = 0;
  std::vector<float> values;

  explicit Matrix(int width) : columns(width) {}
  size_t rows() const { return columns == 0 ? 0 : values.size() / static_cast<size_t>(columns); }
  void add_row(const float* row) { values.insert(values.end(), row, row + columns); }
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  /// Learns from scratch, or on top of the prior. `scores`, one a row: higher is faster, 0 for a candidate that failed.
  /// The last `latest` rows are the newest batch: they are held out to decide when learning from the others stops, and
  /// then learnt from too. 0: no such rows. Fewer than two different scores teach nothing: OK, and the model is
  /// unchanged.
  virtual Status fit(const Matrix& rows, const std::vector<float>& scores, size_t latest = 0) = 0;
  /// Called after `latest` rows were added, with all rows: a few more rounds of the same model, or as fit() when the
  /// model was fitted to less than half of them.
  virtual Status update(const Matrix& rows, const std::vector<float>& scores, size_t latest = 0) = 0;
  /// True when predict() has learnt something or has a prior.
  virtual bool trained() const = 0;
  /// One number a row; only their order means something.
  virtual StatusOr<std::vector<float>> predict(const Matrix& rows) const = 0;

  virtual StatusOr<std::string> save() const = 0;
  /// Starts from a model made by save() or train_prior(): fit() and update() boost on top of it from now on. Refuses
  /// bytes that are no model (see check_model()), or one for another number of columns, and is then unchanged.
  virtual Status load(std::string_view bytes, int columns) = 0;
};

struct XgbOptions {
  int max_rows = 2000;  ///< of more rows the latest and the best are kept: bounds the time of an update
  int max_depth = 4;
  int rounds = 120;        ///< rounds of a fit, at most; fewer when the held-out batch says so
  int patience = 15;       ///< rounds without gain on the held-out batch before a fit stops
  int update_rounds = 12;  ///< rounds of an update
  int max_bins = 64;
  double learning_rate = 0.1;
  double row_share = 0.8;     ///< share of rows that a round uses
  double column_share = 0.5;  ///< share of columns that a round uses
  uint64_t seed = 0;
  /// Called between rounds: lets a caller that shares its cores yield them.
  std::function<void()> between_rounds;
};

/// Gradient-boosted trees, one thread: the same rows give the same model. They learn the speed as a share of the best
/// by squared error: an error at the top weighs more than the same ratio at the bottom, and a few dozen rows rank
/// better by it than by a pairwise loss (bench_search --accuracy: 0.79 against 0.77 on C6 after 64 random trials).
std::unique_ptr<CostModel> make_xgb_model(XgbOptions options = {});

}  // namespace hone
