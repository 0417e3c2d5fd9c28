// Storage of trials: the part of the tophub that the session loop needs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/rows.h"

namespace hone {

class TrialLog {
 public:
  virtual ~TrialLog() = default;
  /// Stored trials of one workload, target and space, in the order in which they were stored.
  virtual StatusOr<std::vector<db::TrialRow>> load(const std::string& workload, const std::string& target,
                                                   const std::string& space) = 0;
  /// Stores trials and offers each as the best, all or nothing; a trial that is there already is left unchanged.
  virtual Status add(std::span<const db::TrialRow> trials) = 0;
  /// Records a batch of trials; a log without use for batches drops it.
  virtual Status add_batch(const db::BatchRow&) { return absl::OkStatus(); }
  virtual Status begin(const db::SessionRow& session) = 0;
  virtual Status finish(const std::string& session, int64_t ended_ms, const std::string& state) = 0;
};

}  // namespace hone
