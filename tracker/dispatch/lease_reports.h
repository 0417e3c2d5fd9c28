// Handles agents' reports of the leases they hold, and gives sessions the jobs that agents still have after a restart
// of the tracker.
#pragma once

#include <string>
#include <vector>

#include "tracker/dispatch/earlier_leases.h"
#include "tracker/dispatch/job_lifecycle.h"

namespace hone::tracker {

/// Not thread-safe. Keeps agents' reports on jobs that no session has submitted to this run of the tracker, for a
/// grace, until the job's session claims them.
class LeaseReports {
 public:
  /// The arguments outlive it.
  LeaseReports(const TrackerOptions& options, const Clock& clock, TrackerCounts& counts, JobBook& book, Fleet& fleet,
               Dispatch& dispatch, JobLifecycle& lifecycle, Outgoing& out)
      : options_(options),
        clock_(clock),
        counts_(counts),
        book_(book),
        fleet_(fleet),
        dispatch_(dispatch),
        lifecycle_(lifecycle),
        out_(out),
        earlier_(clock) {}

  /// The agent has connected and names its leases; `restarted`: it was known as another process, whose leases are lost.
  /// Returns those that it shall forget.
  std::vector<wire::LeaseId> connected(const wire::AgentHello& hello, bool restarted);
  /// The agent works on these leases: they are extended, or the agent gets a message to stop.
  void working(const Agent& agent, const std::vector<wire::LeaseId>& leases);
  void results(const Agent& agent, wire::AgentResults& results);
  void give_back(const Agent& agent, const wire::GiveBack& give_back);
  /// The session has submitted the job: an agent's lease or result of it counts, or it is queued.
  void claim(Session& session, JobRecord& record);
  /// Leases that were not claimed within the grace are forgotten, by the agents too.
  void expire();

 private:
  void drop_unheld(const wire::AgentHello& hello, bool restarted);
  bool keep_held(const wire::AgentHello& hello, const wire::LeaseId& id, const std::string& device);
  bool keep_unclaimed(Unclaimed entry);
  bool adopt(Session& session, JobRecord& record, const wire::LeaseId& id, const std::string& device,
             const std::string& agent);
  bool take_result(const Agent& agent, const wire::LeaseId& id, wire::JobResult& result);
  bool answered(Session& session, JobRecord& record, const HeldLease& lease, wire::JobResult& result);
  void count_phases(const wire::PhaseTimes& phases);
  void forget(const Unclaimed& entry);

  const TrackerOptions& options_;
  const Clock& clock_;
  TrackerCounts& counts_;
  JobBook& book_;
  Fleet& fleet_;
  Dispatch& dispatch_;
  JobLifecycle& lifecycle_;
  Outgoing& out_;
  EarlierLeases earlier_;
};

}  // namespace hone::tracker
