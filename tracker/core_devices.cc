// How devices come, fare and go, and what their sessions are told.
#include <algorithm>

#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxShown = 1024;   // devices a session is told of
constexpr size_t kShownAtOnce = 32;  // up to this many, a change is told at once; otherwise with the next tick

}  // namespace

// The device's credits, leases, mark or connection have changed.
void Tracker::refresh(Device& device) {
  const Pool& pool = *device.place.pool;
  const bool was_usable = pool.usable > 0;
  matching_.update(device, DeviceRegistry::usable(device));
  if (was_usable && pool.usable == 0) forgive(pool);
  if (!device.place.hungry) return;
  for (Demand* demand : pool.demands)
    if (queue_.size(demand->id) > 0) freshen(*demand);
}

// The last device of its kind is gone. What its sessions used there, and others could not, must not keep them from the
// devices that are left.
void Tracker::forgive(const Pool& pool) {
  for (const Demand* demand : pool.demands) {
    std::optional<double> level;
    for (const Pool* other : demand->pools)
      if (const auto lowest = other->usable > 0 ? queue_.lowest(other->groups) : std::nullopt; lowest && lowest > level)
        level = lowest;
    if (!level) continue;
    for (const auto& [uuid, session] : sessions_)
      if (session.demand == demand) queue_.sink(uuid, *level);
  }
}

// May sessions count on it?
bool Tracker::present(const Device& device) const {
  return (device.mark == Mark::kNone || device.mark == Mark::kProbation) && !device.owner->absent;
}

// The sessions' view of the device is brought up to date; notify_devices() tells them.
void Tracker::show(const Device& device) {
  if (!present(device)) return hide(device);
  for (Demand* demand : device.place.pool->demands) {
    const auto shown = demand->shown.find(device.info.key);
    if (shown == demand->shown.end() ? demand->shown.size() >= kMaxShown : shown->second == device.info.target)
      continue;
    demand->shown[device.info.key] = device.info.target;
    if (!std::exchange(demand->shown_changed, true)) shown_changed_.push_back(demand);
  }
}

// Sessions cannot count on it any more: also before it is forgotten, or serves others.
void Tracker::hide(const Device& device) {
  for (Demand* demand : device.place.pool->demands)
    if (demand->shown.erase(device.info.key) > 0 && !std::exchange(demand->shown_changed, true))
      shown_changed_.push_back(demand);
}

// As many as there is room for.
void Tracker::show_all(Demand& demand) {
  for (const Pool* pool : demand.pools) {
    for (const Device* device : pool->devices) {
      if (demand.shown.size() >= kMaxShown) return;
      if (present(*device)) demand.shown[device->info.key] = device->info.target;
    }
  }
}

std::vector<wire::DeviceInfo> Tracker::shown(const Demand& demand) const {
  std::vector<wire::DeviceInfo> out;
  for (const auto& [key, target] : demand.shown) out.push_back(registry_.devices().at(key).info);
  return out;
}

// Tells the sessions whose devices have changed: all of them, or those that have few.
void Tracker::notify_devices(bool all) {
  std::vector<Demand*> later;
  for (Demand* demand : std::exchange(shown_changed_, {})) {
    if (!all && demand->shown.size() > kShownAtOnce) {
      later.push_back(demand);
      continue;
    }
    demand->shown_changed = false;
    if (demand->shown.size() < kMaxShown) show_all(*demand);  // there may be room again
    const auto devices = shown(*demand);
    for (const auto& [uuid, session] : sessions_)
      if (session.demand == demand && session.connection)
        outbox_.to_session(*session.connection, wire::Devices{devices});
  }
  shown_changed_ = std::move(later);
}

void Tracker::forget_lost_agents() {
  const auto now = clock_.now();
  for (Agent* agent : registry_.lost_before(now - options_.agent_grace)) {
    const bool forget = agent->lost_at <= now - options_.forget_lost;
    const bool was_absent = std::exchange(agent->absent, true);
    if (was_absent && !forget) continue;
    for (const std::string& key : agent->devices) {
      Device& device = *registry_.device(key);
      if (!was_absent) show(device);
      if (!forget) continue;
      matching_.remove(device);
      busy_.erase(key);
      quarantined_.erase(key);
    }
    if (forget) registry_.forget(*agent);
  }
}

// What it has not started goes to others.
void Tracker::ask_all_back(const Device& device) {
  wire::TakeBack back;
  for (const HeldLease* lease : leases_.of_device(device.info.key)) back.leases.push_back(lease->id);
  if (!back.leases.empty() && device.owner->connection) outbox_.to_agent(*device.owner->connection, std::move(back));
}

void Tracker::lease_added(Device& device) {
  if (device.leased++ > 0) return;
  device.progress = device.busy_counted = clock_.now();
  busy_[device.info.key] = &device;
}

void Tracker::lease_removed(Device& device) {
  if (device.leased == 0) return;
  if (device.leased == 1) count_busy(device), busy_.erase(device.info.key);
  --device.leased;
}

// The time since the last call belongs to its history.
void Tracker::count_busy(Device& device) {
  const auto now = clock_.now();
  const double seconds = std::chrono::duration<double>(now - device.busy_counted).count();
  device.busy_counted = now;
  device.history.busy(since_start(now), seconds);
  device.last_minute.add(since_start(now), 0, seconds);
}

}  // namespace hone::tracker
