// Work that agents hold from an earlier run of the tracker: leases and results of jobs that no session has submitted to
// this run yet.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "tracker/state/job_key.h"

namespace hone::tracker {

/// A lease, or with `result` a finished job, that an agent announced and no session has claimed.
struct Unclaimed {
  wire::LeaseId id;
  std::string device, agent;
  Clock::TimePoint deadline;
  std::optional<wire::JobResult> result;
  uint64_t order = 0;  ///< the table's
};

/// Not thread-safe. At most one lease or result of a job is kept.
class EarlierLeases {
 public:
  /// `clock` outlives it.
  explicit EarlierLeases(const Clock& clock) : clock_(clock) {}

  /// Keeps it for `grace`; a result replaces the lease it answers. If there are too many in all or of its agent, the
  /// oldest are dropped and returned.
  std::vector<Unclaimed> keep_unclaimed(Unclaimed entry, Clock::Duration grace);
  std::optional<Unclaimed> claim(const JobKey& job);
  bool is_unclaimed(const wire::LeaseId& id) const;
  std::vector<Unclaimed> expire_unclaimed();
  /// The agent process that held them has ended.
  void forget_unclaimed(const std::string& agent);
  /// `agent` gave the lease back. Ignored unless this agent announced it.
  void forget_unclaimed(const wire::LeaseId& id, const std::string& agent);

 private:
  using UnclaimedMap = std::map<JobKey, Unclaimed>;

  Unclaimed take_unclaimed(UnclaimedMap::iterator it);

  static constexpr size_t kMaxUnclaimed = 65536, kMaxUnclaimedOfAgent = 8192, kMaxUnclaimedBytes = 64 << 20;

  const Clock& clock_;
  UnclaimedMap unclaimed_;
  std::map<uint64_t, JobKey> unclaimed_order_;                              // the oldest first
  std::unordered_map<std::string, std::set<uint64_t>> unclaimed_of_agent_;  // their places in that order
  uint64_t next_order_ = 0;
  size_t unclaimed_bytes_ = 0;
};

}  // namespace hone::tracker
