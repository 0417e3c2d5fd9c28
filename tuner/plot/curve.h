// The tuning curve: the measurements of a session, and of those it resumed, as a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/rows.h"

namespace hone::plot {

/// The data of one task. Trials and batches belong to one workload, target and space, in the order stored.
struct TaskCurve {
  std::string workload, target;  ///< canonical texts
  std::string label;             ///< short; used where several tasks share the picture
  double flops = 0;              ///< of one run; 0: times are drawn instead of speeds
  std::string default_config;
  std::string best_config;                       ///< empty: none
  double best_seconds = 0, default_seconds = 0;  ///< as reported; 0: none
  bool confirmed = false;                        ///< the best
  std::vector<db::TrialRow> trials;              ///< confirmations among them
  std::vector<db::BatchRow> batches;
};

/// One task: a picture of its own. Several: small ones side by side. A fixed light background, so that it reads the
/// same everywhere.
std::string draw(const std::vector<TaskCurve>& tasks);

}  // namespace hone::plot
