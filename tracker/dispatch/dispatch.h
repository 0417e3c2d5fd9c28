// Which device works on which job: leases are granted, extended, asked back, released, and taken over from an earlier
// run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracker/dispatch/job_queue.h"
#include "tracker/dispatch/lease_table.h"
#include "tracker/fleet/fleet.h"
#include "tracker/jobs/job_book.h"
#include "tracker/jobs/modules.h"
#include "tracker/state/counts.h"
#include "tracker/state/outgoing.h"

namespace hone::tracker {

/// Not thread-safe. Keeps the lease table, and with each lease the counts and notes of its device and its session.
/// JobLifecycle decides about a job whose lease has ended.
class Dispatch {
 public:
  /// The arguments outlive it.
  Dispatch(const TrackerOptions& options, const Clock& clock, TrackerCounts& counts, JobBook& book, Fleet& fleet,
           Modules& modules, JobQueue& queue, Outgoing& out);

  const LeaseTable& leases() const { return leases_; }

  // --- granting
  /// Grants leases until no device wants one while a job that it may have is queued. Only changed demands are looked
  /// at: as long as a demand is not fresh it has no queued job or no device.
  void grant();
  /// The job of `record` is leased under `id`, which an earlier run of the tracker gave; see may_adopt().
  void adopt(Session& session, JobRecord& record, const wire::LeaseId& id, const std::string& device,
             const std::string& agent);
  /// Whether the agent's word is taken that it holds this lease from an earlier run: for devices of its own that serve
  /// the session, and only with an epoch that an earlier run can have given, since later ones must be above it.
  bool may_adopt(const Session& session, const wire::LeaseId& id, const std::string& device,
                 const std::string& agent) const;

  // --- deadlines
  /// The agent works on the lease: it is extended. False unless it is in force and the agent's.
  bool extend(const wire::LeaseId& id, const std::string& agent);
  /// The agent's connection is over: its leases end after the grace.
  void limit(const Agent& agent) { leases_.limit(agent.name, options_.agent_grace); }
  /// Takes the leases that are over out of the table, to be given to expired(): by device, in the order granted.
  std::map<std::string, std::vector<HeldLease>> take_overdue();
  /// These leases of one device have ended by their deadline.
  void expired(const std::string& device, const std::vector<HeldLease>& leases);

  // --- asking back: the agent answers with what it has not begun
  /// Devices without work get some from the stores of others.
  void take_back();
  /// No session waits for these answers: their devices shall work for sessions that do, if there are any.
  void ask_back(const Session& session);
  /// All leases of the device.
  void ask_all_back(const Device& device);
  /// Changes leases and queue after a change of the device's quarantine.
  void apply(Device& device, Quarantine::Change change);

  // --- releasing
  /// The job's lease ends, whatever the reason; the device was busy with it for `seconds`. With `learn`, the session's
  /// estimate for its jobs follows it.
  void release(const JobKey& key, double seconds, bool learn);
  /// Device seconds that a lease has cost which ends without an answer: only the device's oldest was worked on, since
  /// the device's last answer.
  double spent(const HeldLease& lease) const;

 private:
  bool grant_one(Device& device, std::map<ConnectionId, wire::Leases>& out);
  bool should_avoid(const JobKey& key, const Device& device) const;
  void take_back_from(Device& device, std::set<Device*>& served);
  void released(const HeldLease& lease, double seconds, bool learn);

  const TrackerOptions& options_;
  const Clock& clock_;
  TrackerCounts& counts_;
  JobBook& book_;
  Fleet& fleet_;
  Modules& modules_;
  JobQueue& queue_;
  Outgoing& out_;
  LeaseTable leases_;
};

}  // namespace hone::tracker
