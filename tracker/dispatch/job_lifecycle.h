// The states of a job: queued or waiting for modules, lost and tried again, answered, dropped.
#pragma once

#include <string>
#include <vector>

#include "tracker/dispatch/dispatch.h"

namespace hone::tracker {

/// Not thread-safe, and without a state of its own: a job's is in its record. A job ends with exactly one result, which
/// stays until its session acknowledges it.
class JobLifecycle {
 public:
  /// The arguments outlive it.
  JobLifecycle(const TrackerOptions& options, const Clock& clock, TrackerCounts& counts, JobBook& book, Fleet& fleet,
               Modules& modules, JobQueue& queue, Dispatch& dispatch, Outgoing& out)
      : options_(options),
        clock_(clock),
        counts_(counts),
        book_(book),
        fleet_(fleet),
        modules_(modules),
        queue_(queue),
        dispatch_(dispatch),
        out_(out) {}

  /// The job is queued, or waits for its modules. A job that a device lost is a retry, wherever it is put.
  void enqueue(Session& session, JobRecord& record, FairQueue::Place place);

  // --- leases that ended without a result
  /// Releases the lease, which its device has not begun: that was no attempt, and the job is next.
  void hand_back(const HeldLease& lease);
  /// `lease` has been released, and its device did not answer, or answered that it was lost. The device is at fault
  /// unless it was at another job (`is_culprit`), or the job has cost other devices their leases too.
  void lost(const HeldLease& lease, const std::string& why, bool is_culprit);
  /// Released leases that one device lost at once, in the order granted. The device was at the first of them: the
  /// others only stood by, which is held against them the second time, in case that the order was another.
  void lost_together(const std::vector<HeldLease>& leases, const std::string& why);
  /// Released leases that never reached their agent, in the order granted: their jobs are next, in that order.
  void undelivered(const std::vector<HeldLease>& leases);
  /// Leases whose deadline has passed are lost.
  void expire();

  // --- the end
  void finish(Session& session, JobRecord& record, wire::JobResult result);
  /// Each candidate has this status and message.
  void finish_without_device(Session& session, JobRecord& record, wire::ResultStatus status, std::string message);
  /// The session does not want the answer: the job is finished as cancelled, unless it is already.
  void cancel(Session& session, JobRecord& record);
  /// The session has no use for the job any more, finished or not: neither queue nor agents have it now.
  void drop(Session& session, JobRecord& record);

 private:
  void requeue(const HeldLease& lease);

  const TrackerOptions& options_;
  const Clock& clock_;
  TrackerCounts& counts_;
  JobBook& book_;
  Fleet& fleet_;
  Modules& modules_;
  JobQueue& queue_;
  Dispatch& dispatch_;
  Outgoing& out_;
};

}  // namespace hone::tracker
