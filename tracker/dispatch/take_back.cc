// Leases that are asked back from devices, so that others work on them.
#include <algorithm>
#include <set>

#include "tracker/dispatch/dispatch.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxMoved = 256;   // leases asked back from one device at once
constexpr size_t kMaxLoaded = 256;  // devices asked at once

bool any_idle(const Fleet& fleet) {
  const auto has_idle = [](const Pool* pool) { return pool->hungry.begin()->leased == 0; };
  return std::any_of(fleet.demands().begin(), fleet.demands().end(), [&](const auto& demand) {
    return std::any_of(demand.second->hungry.begin(), demand.second->hungry.end(), has_idle);
  });
}

// Devices that have something in store, those whose leases take longest first.
std::vector<Device*> loaded(const Fleet& fleet) {
  struct Loaded {
    Device* device;
    double load;
  };
  std::vector<Loaded> all;
  for (const auto& [key, device] : fleet.busy())
    if (device->leased >= 2 && device->owner->connection)
      all.push_back({device, device->leased * std::max(device->mean_seconds, 1e-6)});
  std::stable_sort(all.begin(), all.end(), [](const Loaded& a, const Loaded& b) { return a.load > b.load; });
  std::vector<Device*> out;
  for (size_t i = 0; i < std::min(all.size(), kMaxLoaded); ++i) out.push_back(all[i].device);
  return out;
}

}  // namespace

void Dispatch::take_back() {
  if (!any_idle(fleet_)) return;
  std::set<Device*> served;  // idle devices for which something was asked back
  for (Device* device : loaded(fleet_)) take_back_from(*device, served);
}

// With n idle devices, asks for n / (n + 1) of the device's leases that they could take, the newest first: equal shares
// for all. The oldest lease is being worked on and stays.
void Dispatch::take_back_from(Device& device, std::set<Device*>& served) {
  const auto held = leases_.of_device(device.info.key);
  std::vector<HeldLease*> movable;  // newest first
  std::set<Device*> idle;
  for (size_t i = held.size(); i-- > 1 && movable.size() < kMaxMoved;) {
    const JobKey key = key_of(held[i]->id);
    if (held[i]->take_back_asked) continue;
    const size_t before = idle.size();
    bool any = false;
    for (const Pool* pool : book_.at(key.session).demand->hungry)
      for (auto it = pool->hungry.begin(); it != pool->hungry.end() && it->leased == 0 && idle.size() == before; ++it)
        if (!served.contains(it->device) && !should_avoid(key, *it->device)) any = true, idle.insert(it->device);
    if (any) movable.push_back(held[i]);
  }
  if (movable.empty()) return;
  movable.resize((movable.size() * idle.size() + idle.size()) / (idle.size() + 1));
  wire::TakeBack message;
  for (auto it = movable.rbegin(); it != movable.rend(); ++it) {
    (*it)->take_back_asked = true;
    message.leases.push_back((*it)->id);
  }
  counts_.taken_back += message.leases.size();
  served.insert(idle.begin(), idle.end());
  out_.to_agent(*device.owner->connection, std::move(message));
}

void Dispatch::ask_back(const Session& session) {
  std::map<ConnectionId, wire::TakeBack> asked;
  for (const auto& [seq, record] : session.jobs) {
    if (record.state != JobState::kLeased) continue;
    HeldLease& lease = *leases_.find(key_of(session, record));
    const Device* device = fleet_.device(lease.device);
    if (!device || !device->owner->connection || lease.take_back_asked ||
        !queue_.fair().lowest(device->place.pool->groups))
      continue;
    lease.take_back_asked = true;
    asked[*device->owner->connection].leases.push_back(lease.id);
  }
  for (auto& [connection, message] : asked) {
    counts_.taken_back += message.leases.size();
    out_.to_agent(connection, std::move(message));
  }
}

void Dispatch::ask_all_back(const Device& device) {
  wire::TakeBack back;
  for (const HeldLease* lease : leases_.of_device(device.info.key)) back.leases.push_back(lease->id);
  if (!back.leases.empty() && device.owner->connection) out_.to_agent(*device.owner->connection, std::move(back));
}

void Dispatch::apply(Device& device, Quarantine::Change change) {
  if (change == Quarantine::Change::kNone) return;
  if (change == Quarantine::Change::kBegan) ask_all_back(device);
  queue_.update(device);
}

}  // namespace hone::tracker
