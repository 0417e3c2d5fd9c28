// The jobs that wait for a device: whose turn it is, and for whom something has changed so that a job may be leased.
#pragma once

#include <optional>
#include <vector>

#include "tracker/dispatch/fair_queue.h"
#include "tracker/dispatch/lease_table.h"
#include "tracker/fleet/fleet.h"
#include "tracker/jobs/job_book.h"

namespace hone::tracker {

/// Not thread-safe. The fair queue, kept in step with the fleet: sessions compete where their devices are, and their
/// use of devices that went is not held against them. A demand is fresh when jobs of it were queued, or a device that
/// serves it wants leases: only fresh ones are looked at.
class JobQueue {
 public:
  /// The arguments outlive the queue.
  JobQueue(const FairOptions& options, const Clock& clock, Fleet& fleet, const JobBook& book)
      : clock_(clock), fleet_(fleet), book_(book), queue_(clock, options) {}

  const FairQueue& fair() const { return queue_; }

  // --- sessions
  /// The session competes for the devices that its spec asks for now.
  void join(Session& session);
  /// The session is about to be erased.
  void leave(Session& session);
  void set_absent(const Session& session, bool absent) { queue_.set_absent(session.spec.session, absent); }

  // --- jobs
  void push(Session& session, const JobKey& key, FairQueue::Place place);
  void erase(const JobKey& key) { queue_.erase(key); }
  /// The next job for the device, among jobs that `job_ok` allows.
  std::optional<FairQueue::Picked> pick(const Device& device, const FairQueue::JobOk& job_ok);
  /// Undoes pick(): the job that it gave for the device is not leased.
  void undo(const FairQueue::Picked& picked, const Device& device);
  /// The lease took `seconds` of the device's time. `device`: null when it is forgotten. With `learn`, later estimates
  /// follow it.
  void charge(const HeldLease& lease, Device* device, double seconds, bool learn);

  // --- changes
  /// The device's credits, leases, mark or connection have changed.
  void update(Device& device);
  /// Jobs that a device lost may be had by it now.
  void retry();
  /// Takes the demand that became fresh last; null when none is.
  Demand* next_fresh();

 private:
  void freshen(Demand& demand);
  void forgive(const Pool& pool);
  void close(Demand& demand);

  const Clock& clock_;
  Fleet& fleet_;
  const JobBook& book_;
  FairQueue queue_;
  std::vector<Demand*> fresh_;
};

}  // namespace hone::tracker
