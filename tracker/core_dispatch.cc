// Which job goes to which device, and which are asked back.
#include <algorithm>
#include <cmath>

#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kLeasesPerMessage = 16;
constexpr size_t kMaxMoved = 256;   // leases asked back from one device at once
constexpr size_t kMaxLoaded = 256;  // devices asked at once

// The device that wants leases and has the fewest, among those that serve the demand and are not in `passed`.
Device* least_loaded(const Demand& demand, const std::set<Device*>& passed) {
  std::optional<HungryKey> best;
  for (const Pool* pool : demand.hungry) {
    const auto first = std::find_if(pool->hungry.begin(), pool->hungry.end(),
                                    [&](const HungryKey& key) { return !passed.contains(key.device); });
    if (first != pool->hungry.end() && (!best || *first < *best)) best = *first;
  }
  return best ? best->device : nullptr;
}

}  // namespace

// Jobs of the demand were queued, or a device that serves it wants leases.
void Tracker::freshen(Demand& demand) {
  if (std::exchange(demand.fresh, true)) return;
  fresh_.push_back(&demand);
}

// Afterwards no device wants a lease while a job that it may have is queued. Only what has changed is looked at: as
// long as a demand is not fresh it has no queued job or no device. The least loaded device comes first, so that few
// jobs spread over many devices.
void Tracker::dispatch() {
  std::map<ConnectionId, wire::Leases> out;
  while (!fresh_.empty()) {
    Demand& demand = *fresh_.back();
    fresh_.pop_back();
    demand.fresh = false;
    std::set<Device*> passed;  // they lost all the jobs there are for them
    while (queue_.size(demand.id) > 0) {
      Device* device = least_loaded(demand, passed);
      if (!device) break;
      if (!grant_one(*device, out)) passed.insert(device);
    }
  }
  for (auto& [connection, leases] : out)
    if (!leases.leases.empty()) outbox_.to_agent(connection, std::move(leases));
}

bool Tracker::grant_one(Device& device, std::map<ConnectionId, wire::Leases>& out) {
  const auto picked = queue_.pick(device.place.pool->groups, device.slowness,
                                  [&](const JobKey& key) { return !should_avoid(key, device); });
  if (!picked) return false;
  const std::string& key = device.info.key;
  Session& session = sessions_.at(picked->job.session);
  JobRecord& record = session.jobs.at(picked->job.seq);
  if (!may_be_leased(session, record)) {  // a module had to make room meanwhile, and nobody is there to send it again
    queue_.settle(picked->job.session, picked->estimate, clock_.now(), 0, device.slowness, /*learn=*/false);
    wait_for_modules(session, record);
    return true;
  }
  const HeldLease& lease = leases_.grant(picked->job, key, device.agent, picked->estimate, record.budget_s);
  record.state = JobState::kLeased;
  record.queue_s = std::chrono::duration<double>(clock_.now() - record.submitted).count();
  ++record.attempts;
  ++session.leased;
  lease_added(device);
  --device.credits;
  matching_.served(device);
  refresh(device);
  ++counts_.leases;
  counts_.latency.add(record.queue_s);

  const ConnectionId connection = *device.owner->connection;
  wire::Leases& message = out[connection];
  message.leases.push_back({lease.id, key, record.job});
  if (record.reference) message.leases.back().job.reference = record.reference->reference;
  if (message.leases.size() == kLeasesPerMessage) outbox_.to_agent(connection, std::exchange(message, {}));
  return true;
}

// A device that lost the job is passed over while another one could take it: it may be the device's fault. But not for
// ever: the other one may never ask.
bool Tracker::should_avoid(const JobKey& key, const Device& device) const {
  const Session& session = sessions_.at(key.session);
  const JobRecord& record = session.jobs.at(key.seq);
  if (std::find(record.tried.begin(), record.tried.end(), device.info.key) == record.tried.end()) return false;
  if (clock_.now() - record.lost_at >= options_.lease) return false;
  size_t usable = 0, tried = 0;
  for (const Pool* pool : session.demand->pools) usable += pool->usable;
  for (const std::string& name : std::set<std::string>(record.tried.begin(), record.tried.end())) {
    const auto other = registry_.devices().find(name);
    tried += other != registry_.devices().end() && other->second.place.usable &&
             session.demand->pools.contains(other->second.place.pool);
  }
  return usable > tried;
}

// Devices without work, while others have leases in store that these could do: of n idle ones' and the owner's n + 1
// parts of the store, n are asked back, the newest leases first. The oldest is being worked on.
void Tracker::take_back() {
  struct Loaded {
    Device* device;
    double load;
  };
  const auto has_idle = [](const Pool* pool) { return pool->hungry.begin()->leased == 0; };
  if (std::none_of(matching_.demands().begin(), matching_.demands().end(), [&](const auto& demand) {
        return std::any_of(demand.second->hungry.begin(), demand.second->hungry.end(), has_idle);
      }))
    return;
  std::vector<Loaded> loaded;
  for (const auto& [key, device] : busy_)
    if (device->leased >= 2 && device->owner->connection)
      loaded.push_back({device, device->leased * std::max(device->mean_seconds, 1e-6)});
  std::stable_sort(loaded.begin(), loaded.end(), [](const Loaded& a, const Loaded& b) { return a.load > b.load; });
  if (loaded.size() > kMaxLoaded) loaded.resize(kMaxLoaded);
  std::set<Device*> served;  // idle devices for which something was asked back
  for (const Loaded& one : loaded) {
    const auto held = leases_.of_device(one.device->info.key);
    std::vector<HeldLease*> movable;  // newest first
    std::set<Device*> idle;
    for (size_t i = held.size(); i-- > 1 && movable.size() < kMaxMoved;) {
      const JobKey key = key_of(held[i]->id);
      if (held[i]->take_back_asked) continue;
      const size_t before = idle.size();
      bool any = false;
      for (const Pool* pool : sessions_.at(key.session).demand->hungry)
        for (auto it = pool->hungry.begin(); it != pool->hungry.end() && it->leased == 0 && idle.size() == before; ++it)
          if (!served.contains(it->device) && !should_avoid(key, *it->device)) any = true, idle.insert(it->device);
      if (any) movable.push_back(held[i]);
    }
    if (movable.empty()) continue;
    movable.resize((movable.size() * idle.size() + idle.size()) / (idle.size() + 1));
    wire::TakeBack message;
    for (auto it = movable.rbegin(); it != movable.rend(); ++it) {
      (*it)->take_back_asked = true;
      message.leases.push_back((*it)->id);
    }
    counts_.taken_back += message.leases.size();
    served.insert(idle.begin(), idle.end());
    outbox_.to_agent(*one.device->owner->connection, std::move(message));
  }
}

}  // namespace hone::tracker
