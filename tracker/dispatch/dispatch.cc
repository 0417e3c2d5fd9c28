#include "tracker/dispatch/dispatch.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace hone::tracker {
namespace {

constexpr size_t kLeasesPerMessage = 16;
constexpr uint64_t kMaxClockSkew = 86'400'000'000;  // a day: epochs start at the wall clock's microseconds

double seconds(Clock::Duration d) { return std::chrono::duration<double>(d).count(); }

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

Dispatch::Dispatch(const TrackerOptions& options, const Clock& clock, TrackerCounts& counts, JobBook& book,
                   Fleet& fleet, Modules& modules, JobQueue& queue, Outgoing& out)
    : options_(options),
      clock_(clock),
      counts_(counts),
      book_(book),
      fleet_(fleet),
      modules_(modules),
      queue_(queue),
      out_(out),
      leases_(clock, options.lease, options.first_epoch) {}

// --- granting

// The least loaded device comes first, so that few jobs spread over many devices.
void Dispatch::grant() {
  std::map<ConnectionId, wire::Leases> out;
  while (const Demand* demand = queue_.next_fresh()) {
    std::set<Device*> passed;  // they lost all the jobs there are for them
    while (queue_.fair().size(demand->id) > 0) {
      Device* device = least_loaded(*demand, passed);
      if (!device) break;
      if (!grant_one(*device, out)) passed.insert(device);
    }
  }
  for (auto& [connection, leases] : out)
    if (!leases.leases.empty()) out_.to_agent(connection, std::move(leases));
}

bool Dispatch::grant_one(Device& device, std::map<ConnectionId, wire::Leases>& out) {
  const auto picked = queue_.pick(device, [&](const JobKey& key) { return !should_avoid(key, device); });
  if (!picked) return false;
  const std::string& key = device.info.key;
  Session& session = book_.at(picked->job.session);
  JobRecord& record = session.jobs.at(picked->job.seq);
  if (!modules_.may_be_leased(session, record)) {  // a module had to make room, and its session cannot send it now
    queue_.undo(*picked, device);
    modules_.wait_for(session, record);
    return true;
  }
  const HeldLease& lease = leases_.grant(picked->job, key, device.agent, picked->estimate, record.budget_s);
  record.state = JobState::kLeased;
  record.queue_s = seconds(clock_.now() - record.submitted);
  ++record.attempts;
  ++session.leased;
  fleet_.lease_added(device);
  fleet_.served(device);
  queue_.update(device);
  ++counts_.leases;
  counts_.latency.add(record.queue_s);

  const ConnectionId connection = *device.owner->connection;
  wire::Leases& message = out[connection];
  message.leases.push_back({lease.id, key, record.job});
  if (record.reference) message.leases.back().job.reference = record.reference->reference;
  if (message.leases.size() == kLeasesPerMessage) out_.to_agent(connection, std::exchange(message, {}));
  return true;
}

// A device that lost the job is passed over while another one could take it: it may be the device's fault. But not for
// ever: the other one may never ask.
bool Dispatch::should_avoid(const JobKey& key, const Device& device) const {
  const Session& session = book_.at(key.session);
  const JobRecord& record = session.jobs.at(key.seq);
  if (std::find(record.tried.begin(), record.tried.end(), device.info.key) == record.tried.end()) return false;
  if (clock_.now() - record.lost_at >= options_.lease) return false;
  const auto& devices = fleet_.registry().devices();
  size_t usable = 0, tried = 0;
  for (const Pool* pool : session.demand->pools) usable += pool->usable;
  for (const std::string& name : std::set<std::string>(record.tried.begin(), record.tried.end())) {
    const auto other = devices.find(name);
    tried += other != devices.end() && other->second.place.usable &&
             session.demand->pools.contains(other->second.place.pool);
  }
  return usable > tried;
}

bool Dispatch::may_adopt(const Session& session, const wire::LeaseId& id, const std::string& device_key,
                         const std::string& agent) const {
  const Device* device = fleet_.device(device_key);
  return device && device->agent == agent && matches(session.demand->spec, *device) &&
         id.epoch < options_.first_epoch + kMaxClockSkew;
}

void Dispatch::adopt(Session& session, JobRecord& record, const wire::LeaseId& id, const std::string& device_key,
                     const std::string& agent) {
  leases_.adopt(id, device_key, agent, record.budget_s);
  record.state = JobState::kLeased;
  record.attempts = 1;
  ++session.leased;
  ++counts_.adopted;
  Device& device = *fleet_.device(device_key);
  fleet_.lease_added(device);
  queue_.update(device);
}

// --- deadlines

bool Dispatch::extend(const wire::LeaseId& id, const std::string& agent) {
  const HeldLease* lease = leases_.current(id);
  return lease && lease->agent == agent && leases_.extend(id);
}

std::map<std::string, std::vector<HeldLease>> Dispatch::take_overdue() {
  // Heartbeats say that the agent's connection lives, not that the device gets anywhere: a device that has answered
  // nothing for longer than its jobs may take loses them too.
  for (const auto& [key, device] : fleet_.busy()) {
    const double silent = seconds(clock_.now() - device->progress);
    if (silent <= 60) continue;  // no job has less
    double budget = 0;
    for (const HeldLease* lease : leases_.of_device(key)) budget = std::max(budget, lease->budget_s);
    if (silent > budget) leases_.end_all_of_device(key);
  }
  std::map<std::string, std::vector<HeldLease>> by_device;
  for (HeldLease& lease : leases_.expire()) by_device[lease.device].push_back(std::move(lease));
  for (auto& [key, late] : by_device)
    std::sort(late.begin(), late.end(), [](const HeldLease& a, const HeldLease& b) { return a.id.epoch < b.id.epoch; });
  return by_device;
}

void Dispatch::expired(const std::string& key, const std::vector<HeldLease>& leases) {
  const Device* device = fleet_.device(key);
  const double worked = device ? seconds(clock_.now() - std::max(device->progress, leases.front().granted)) : 0;
  for (const HeldLease& lease : leases) {
    ++counts_.expired;
    out_.cancel(lease.agent, lease.id);
    released(lease, &lease == &leases.front() ? worked : 0, false);
  }
}

// --- releasing

double Dispatch::spent(const HeldLease& lease) const {
  const Device* device = fleet_.device(lease.device);
  if (!device || leases_.oldest_of_device(lease.device) != lease.id.epoch) return 0;
  return seconds(clock_.now() - std::max(device->progress, lease.granted));
}

void Dispatch::release(const JobKey& key, double seconds, bool learn) {
  if (const auto lease = leases_.release(key)) released(*lease, seconds, learn);
}

// The same once the lease is out of the table.
void Dispatch::released(const HeldLease& lease, double seconds, bool learn) {
  Device* device = fleet_.device(lease.device);
  queue_.charge(lease, device, seconds, learn);
  if (device) {
    fleet_.lease_removed(*device);
    queue_.update(*device);
  }
  if (Session* session = book_.find(lease.id.session)) {
    --session->leased;
    session->device_seconds += seconds;
  }
}

}  // namespace hone::tracker
