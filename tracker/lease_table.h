// Which device works on which job, until when. Also what agents hold from before the tracker started and nobody has
// claimed yet.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "tracker/job_key.h"

namespace hone::tracker {

/// A lease in force.
struct HeldLease {
  wire::LeaseId id;
  std::string device, agent;
  Clock::TimePoint granted, deadline;
  Clock::TimePoint latest{};  ///< by then the device may have done it and all it held before; no deadline is later
  double estimate = 0;        ///< what the fair queue debited
  double budget_s = 0;        ///< longest the device may work on this job
  bool take_back_asked = false;
};

/// A lease, or with `result` a finished job, that an agent announced and no session has claimed.
struct Unclaimed {
  wire::LeaseId id;
  std::string device, agent;
  Clock::TimePoint deadline;
  std::optional<wire::JobResult> result;
  uint64_t order = 0;  ///< the table's
};

/// Not thread-safe. A job has at most one lease; every grant has a higher epoch than all before.
class LeaseTable {
 public:
  LeaseTable(const Clock& clock, Clock::Duration duration, uint64_t first_epoch)
      : clock_(clock), duration_(duration), next_epoch_(first_epoch) {}

  const HeldLease& grant(const JobKey& job, const std::string& device, const std::string& agent, double estimate,
                         double budget_s);
  /// Takes a lease over from an earlier run of the tracker, under its old epoch.
  const HeldLease& adopt(const wire::LeaseId& id, const std::string& device, const std::string& agent, double budget_s);
  /// Null when the job is not leased.
  HeldLease* find(const JobKey& job);
  /// Null unless this very lease is in force.
  HeldLease* current(const wire::LeaseId& id);
  /// A heartbeat named it: it lasts the table's duration from now, `latest` at most. False unless it is in force.
  bool extend(const wire::LeaseId& id);
  /// The agent is gone: its leases end `grace` from now at the latest.
  void limit(const std::string& agent, Clock::Duration grace);
  std::optional<HeldLease> release(const JobKey& job);
  /// Takes out those whose deadline has passed.
  std::vector<HeldLease> expire();
  /// In the order granted.
  std::vector<HeldLease*> of_device(const std::string& device);
  std::vector<HeldLease*> of_agent(const std::string& agent);
  size_t size_of_agent(const std::string& agent) const;
  /// The epoch of the device's oldest lease; 0 when it has none.
  uint64_t oldest_of_device(const std::string& device) const;
  /// The next expire() takes them out.
  void end_all_of_device(const std::string& device);
  size_t size() const { return leases_.size(); }

  /// Keeps it for `grace`; a result replaces the lease it answers. Of too many, of all or of its agent, the oldest are
  /// dropped and returned.
  std::vector<Unclaimed> keep_unclaimed(Unclaimed entry, Clock::Duration grace);
  std::optional<Unclaimed> claim(const JobKey& job);
  bool is_unclaimed(const wire::LeaseId& id) const;
  std::vector<Unclaimed> expire_unclaimed();
  /// The agent process that held them has ended.
  void forget_unclaimed(const std::string& agent);
  /// What `agent` gave back, if it is the one that announced it.
  void forget_unclaimed(const wire::LeaseId& id, const std::string& agent);

 private:
  using UnclaimedMap = std::map<JobKey, Unclaimed>;
  struct OfDevice {
    std::map<uint64_t, JobKey> jobs;  // by epoch: the order granted
    double budget_s = 0;              // of all of them
  };

  const HeldLease& insert(HeldLease lease);
  Unclaimed take_unclaimed(UnclaimedMap::iterator it);

  static constexpr size_t kMaxUnclaimed = 65536, kMaxUnclaimedOfAgent = 8192, kMaxUnclaimedBytes = 64 << 20;

  const Clock& clock_;
  const Clock::Duration duration_;
  uint64_t next_epoch_;
  std::unordered_map<JobKey, HeldLease> leases_;
  std::unordered_map<std::string, OfDevice> by_device_;
  std::unordered_map<std::string, std::set<JobKey>> by_agent_;
  // No lease ends before: deadlines only move back, but for those set here.
  Clock::TimePoint earliest_ = Clock::TimePoint::max();
  UnclaimedMap unclaimed_;
  std::map<uint64_t, JobKey> unclaimed_order_;                              // the oldest first
  std::unordered_map<std::string, std::set<uint64_t>> unclaimed_of_agent_;  // their places in that order
  uint64_t next_order_ = 0;
  size_t unclaimed_bytes_ = 0;
};

}  // namespace hone::tracker
