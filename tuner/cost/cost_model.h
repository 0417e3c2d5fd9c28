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

  /// Learns from scratch, or upon the prior. `scores`, one a row: higher is faster, 0 for a candidate that failed. The
  /// last `latest` rows came last (a batch): what they say decides when learning from the others stops; then they are
  /// learnt from too. 0: no such rows. Fewer than two different scores teach nothing: OK, and the model stays as it
  /// was.
  virtual Status fit(const Matrix& rows, const std::vector<float>& scores, size_t latest = 0) = 0;
  /// Learns from all rows so far after `latest` were added: a little more of the same model, or as fit() when it began
  /// with less than half of them.
  virtual Status update(const Matrix& rows, const std::vector<float>& scores, size_t latest = 0) = 0;
  /// True when predict() has something to go by.
  virtual bool trained() const = 0;
  /// One number a row; only their order means something.
  virtual StatusOr<std::vector<float>> predict(const Matrix& rows) const = 0;

  virtual StatusOr<std::string> save() const = 0;
  /// Begins with a model made before, by save() or train_prior(): fit() and update() boost upon it from now on. Rejects
  /// bytes that are no model (check_model() says which are), or one for another number of columns, and stays as it was.
  virtual Status load(std::string_view bytes, int columns) = 0;
};

struct XgbOptions {
  int max_rows = 2000;  ///< the latest and the best of more are kept: bounds the time of an update
  int max_depth = 4;
  int rounds = 120;        ///< of a fit at most; fewer when the held-out batch says so
  int patience = 15;       ///< rounds without gain on the held-out batch before a fit stops
  int update_rounds = 12;  ///< of an update
  int max_bins = 64;
  double learning_rate = 0.1;
  double row_share = 0.8;     ///< that a round looks at
  double column_share = 0.5;  ///< likewise
  uint64_t seed = 0;
  /// Called between rounds: where a caller that shares its cores takes a break.
  std::function<void()> between_rounds;
};

/// Gradient-boosted trees, one thread: the same rows give the same model. They learn the speed as a share of the best
/// by squared error: an error at the top weighs more than the same ratio at the bottom, and a few dozen rows rank
/// better by it than by a pairwise loss (bench_search --accuracy: 0.79 against 0.77 on C6 after 64 random trials).
std::unique_ptr<CostModel> make_xgb_model(XgbOptions options = {});

}  // namespace hone
