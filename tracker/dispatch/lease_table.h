// Which device works on which job, until when.
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

/// A lease in force.
struct HeldLease {
  wire::LeaseId id;
  std::string device, agent;
  Clock::TimePoint granted, deadline;
  Clock::TimePoint latest{};  ///< by then the device may have done it and all it held before; no deadline is later
  double estimate = 0;        ///< the seconds that the fair queue debited
  double budget_s = 0;        ///< longest the device may work on this job
  bool take_back_asked = false;
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
  const HeldLease* find(const JobKey& job) const;
  /// Null unless this very lease is in force.
  const HeldLease* current(const wire::LeaseId& id) const;
  /// A heartbeat named it: it lasts the table's duration from now, `latest` at most. False unless it is in force.
  bool extend(const wire::LeaseId& id);
  /// The agent is gone: its leases end `grace` from now at the latest.
  void limit(const std::string& agent, Clock::Duration grace);
  std::optional<HeldLease> release(const JobKey& job);
  /// Takes out those whose deadline has passed.
  std::vector<HeldLease> expire();
  /// In the order granted.
  std::vector<HeldLease*> of_device(const std::string& device);
  std::vector<const HeldLease*> of_agent(const std::string& agent) const;
  size_t size_of_agent(const std::string& agent) const;
  /// The epoch of the device's oldest lease; 0 when it has none.
  uint64_t oldest_of_device(const std::string& device) const;
  /// The next expire() takes them out.
  void end_all_of_device(const std::string& device);
  size_t size() const { return leases_.size(); }

 private:
  struct OfDevice {
    std::map<uint64_t, JobKey> jobs;  // by epoch: the order granted
    double budget_s = 0;              // of all of them
  };

  const HeldLease& insert(HeldLease lease);

  const Clock& clock_;
  const Clock::Duration duration_;
  uint64_t next_epoch_;
  std::unordered_map<JobKey, HeldLease> leases_;
  std::unordered_map<std::string, OfDevice> by_device_;
  std::unordered_map<std::string, std::set<JobKey>> by_agent_;
  // No lease ends before: deadlines only move back, but for those set here.
  Clock::TimePoint earliest_ = Clock::TimePoint::max();
};

}  // namespace hone::tracker
