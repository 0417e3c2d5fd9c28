#include "tracker/dispatch/job_queue.h"

#include <algorithm>
#include <utility>

namespace hone::tracker {

// --- sessions

void JobQueue::join(Session& session) {
  Demand* old = session.demand;
  Demand& demand = fleet_.open_demand(session.spec);
  session.demand = &demand;
  queue_.add_session(session.spec.session, demand.id, session.spec.weight, session.spec.priority);
  if (queue_.size(demand.id) > 0) freshen(demand);
  if (old) close(*old);
}

void JobQueue::leave(Session& session) {
  queue_.remove_session(session.spec.session);
  close(*session.demand);
}

void JobQueue::close(Demand& demand) {
  if (demand.sessions == 1) std::erase(fresh_, &demand);
  fleet_.close_demand(demand);
}

// --- jobs

void JobQueue::push(Session& session, const JobKey& key, FairQueue::Place place) {
  if (queue_.size(key.session) == 0) {
    // It joins the sessions that compete for the same devices. Where its devices are served at different levels, the
    // highest one counts: it starves no session there, and elsewhere it will soon stand lowest.
    std::optional<double> level;
    for (const Pool* pool : session.demand->pools)
      if (const auto lowest = queue_.lowest(pool->groups); lowest && lowest > level) level = lowest;
    if (level) queue_.rise(key.session, *level);
  }
  queue_.push(key, place);
  freshen(*session.demand);
}

std::optional<FairQueue::Picked> JobQueue::pick(const Device& device, const FairQueue::JobOk& job_ok) {
  return queue_.pick(device.place.pool->groups, device.slowness, job_ok);
}

void JobQueue::undo(const FairQueue::Picked& picked, const Device& device) {
  queue_.settle(picked.job.session, picked.estimate, clock_.now(), 0, device.slowness, /*learn=*/false);
}

void JobQueue::charge(const HeldLease& lease, Device* device, double seconds, bool learn) {
  const auto slowness =
      queue_.settle(lease.id.session, lease.estimate, lease.granted, seconds, device ? device->slowness : 1, learn);
  if (device && slowness)
    device->slowness = std::clamp(device->slowness + 0.1 * (*slowness - device->slowness), 0.01, 100.0);
}

// --- changes

void JobQueue::freshen(Demand& demand) {
  if (std::exchange(demand.fresh, true)) return;
  fresh_.push_back(&demand);
}

void JobQueue::update(Device& device) {
  if (const Pool* emptied = fleet_.update(device)) forgive(*emptied);
  if (!device.place.hungry) return;
  for (Demand* demand : device.place.pool->demands)
    if (queue_.size(demand->id) > 0) freshen(*demand);
}

// The last device of its kind is gone. Time that its sessions used there, and others could not, must not keep them from
// the devices that are left.
void JobQueue::forgive(const Pool& pool) {
  for (const Demand* demand : pool.demands) {
    std::optional<double> level;
    for (const Pool* other : demand->pools)
      if (const auto lowest = other->usable > 0 ? queue_.lowest(other->groups) : std::nullopt; lowest && lowest > level)
        level = lowest;
    if (!level) continue;
    for (const auto& [uuid, session] : book_.sessions())
      if (session.demand == demand) queue_.sink(uuid, *level);
  }
}

void JobQueue::retry() {
  for (const auto& [text, demand] : fleet_.demands())
    if (queue_.retries(demand->id) > 0) freshen(*demand);
}

Demand* JobQueue::next_fresh() {
  if (fresh_.empty()) return nullptr;
  Demand* demand = fresh_.back();
  fresh_.pop_back();
  demand->fresh = false;
  return demand;
}

}  // namespace hone::tracker
