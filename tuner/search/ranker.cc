#include "tuner/search/ranker.h"

#include <limits>

namespace hone {

std::vector<float> ModelRanker::score(const std::vector<Config>& configs) {
  if (expect_) expect_(configs);
  std::vector<float> scores(configs.size(), -std::numeric_limits<float>::infinity());
  if (!model_.trained()) {
    for (size_t i = 0; i < configs.size() && draft_; ++i)
      if (const float* row = features_(configs[i])) scores[i] = draft_(row);
    return scores;
  }
  Matrix rows(columns_);
  std::vector<size_t> of_row;
  for (size_t i = 0; i < configs.size(); ++i)
    if (const float* row = features_(configs[i])) {
      rows.add_row(row);
      of_row.push_back(i);
    }
  const StatusOr<std::vector<float>> predicted = model_.predict(rows);
  if (!predicted.ok()) {
    error_ = message_of(predicted.status());
    return scores;
  }
  for (size_t r = 0; r < of_row.size(); ++r) scores[of_row[r]] = (*predicted)[r];
  return scores;
}

void ModelRanker::learn(const std::vector<Config>& configs, const std::vector<double>& speeds) {
  if (expect_) expect_(configs);
  const size_t before = rows_.rows();
  for (size_t i = 0; i < configs.size(); ++i)
    if (const float* row = features_(configs[i])) {
      rows_.add_row(row);
      speeds_.push_back(static_cast<float>(speeds[i]));
    }
  if (rows_.rows() == before) return;
  const Status learnt = model_.update(rows_, speeds_, rows_.rows() - before);
  error_ = learnt.ok() ? "" : message_of(learnt);
}

}  // namespace hone
