// Jobs: queued, leased, finished; dispatch and time.
#include "tracker/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace hone::tracker {
namespace {

constexpr size_t kLeasesPerMessage = 16, kResultsPerMessage = 64;

double seconds(Clock::Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

double budget_seconds(const wire::Job& job) {
  if (job.fake) return job.fake->run_seconds + 60;
  const wire::MeasureProfile& p = job.profile;
  // The run deadline is a floor: several times that for slow candidates, which are stopped by their agent.
  return static_cast<double>(job.candidates()) * (p.build_timeout_s + 4 * p.run_timeout_s) + (job.reference ? job.reference->timeout_s : 0) + 60;
}

Tracker::Tracker(TrackerOptions options, const Clock& clock, Outbox& outbox)
    : options_(options),
      clock_(clock),
      outbox_(outbox),
      started_(clock.now()),
      registry_(clock),
      leases_(clock, options.lease, options.first_epoch),
      queue_(options.quantum_s),
      blobs_(options.blob_bytes) {}

void Tracker::agent_message(ConnectionId connection, wire::FromAgent message) {
  Agent* agent = registry_.by_connection(connection);
  const bool is_hello = std::holds_alternative<wire::AgentHello>(message);
  if (is_hello == (agent != nullptr)) return refuse_agent(connection, "the first message of a connection, and only that, is hello", false);
  if (agent) agent->heard_at = clock_.now();
  std::visit([&](auto& m) { on(connection, agent, m); }, message);
  dispatch();
  flush();
}

void Tracker::agent_gone(ConnectionId connection) {
  Agent* agent = registry_.by_connection(connection);
  if (!agent) return;
  for (const std::string& key : agent->devices) hungry_.erase(key);
  registry_.disconnect(*agent);
  leases_.limit(agent->name, options_.agent_grace);
  for (auto& [hash, pending] : pending_blobs_) pending.waiters.erase(connection);
  log::info("agent {} is gone, holding {} leases", agent->name, leases_.of_agent(agent->name).size());
}

void Tracker::session_message(ConnectionId connection, wire::FromSession message) {
  Session* session = session_of(connection);
  const bool is_open = std::holds_alternative<wire::SessionOpen>(message);
  if (is_open == (session != nullptr)) return refuse_session(connection, "the first message of a connection, and only that, is open", false);
  std::visit([&](auto& m) { on(connection, session, m); }, message);
  dispatch();
  flush();
}

void Tracker::session_gone(ConnectionId connection) {
  Session* session = session_of(connection);
  if (!session) return;
  session_connections_.erase(connection);
  session->connection.reset();
  session->gone_at = clock_.now();
  log::info("session {} is gone, with {} jobs", session->spec.session.text(), session->jobs.size());
}

Tracker::Session* Tracker::session_of(ConnectionId connection) {
  const auto it = session_connections_.find(connection);
  return it == session_connections_.end() ? nullptr : &sessions_.at(it->second);
}

Tracker::JobRecord* Tracker::job_of(const JobKey& key) {
  const auto session = sessions_.find(key.session);
  if (session == sessions_.end()) return nullptr;
  const auto job = session->second.jobs.find(key.seq);
  return job == session->second.jobs.end() ? nullptr : &job->second;
}

// The job has its one result: it stays until the session acknowledges it.
void Tracker::finish(Session& session, JobRecord& record, wire::JobResult result) {
  result.session = session.spec.session;
  result.seq = record.job.seq;
  result.phases.queue = record.queue_s;
  result.attempts = record.attempts;
  for (const wire::CandidateResult& candidate : result.candidates) ++counts_.results[static_cast<size_t>(candidate.status)];
  record.state = JobState::kDone;
  ++session.done;
  if (session.connection) results_[session.spec.session].push_back(result);
  record.result = std::move(result);
}

void Tracker::finish_without_device(Session& session, JobRecord& record, wire::ResultStatus status, std::string message) {
  wire::CandidateResult candidate;
  candidate.status = status;
  candidate.message = std::move(message);
  wire::JobResult result;
  if (!record.tried.empty()) result.device = record.tried.back();
  result.candidates.assign(record.job.candidates(), candidate);
  finish(session, record, std::move(result));
}

// The job's lease ends, whatever the reason; the device was busy with it for `device_seconds`.
void Tracker::release(const JobKey& key, double device_seconds, bool learn) {
  const auto lease = leases_.release(key);
  if (!lease) return;
  queue_.settle(key.session, lease->estimate, device_seconds, learn);
  forget_lease(*lease);
}

// Counts of a lease that has been released.
void Tracker::forget_lease(const HeldLease& lease) {
  if (Device* device = registry_.device(lease.device); device && device->leased > 0) --device->leased;
  if (const auto session = sessions_.find(lease.id.session); session != sessions_.end()) --session->second.leased;
}

// `lease` has been released and nobody is to blame: the job is next.
void Tracker::requeue(const HeldLease& lease) {
  JobRecord* record = job_of(key_of(lease.id));
  if (!record) return;
  record->state = JobState::kQueued;
  queue_.push(key_of(lease.id), /*at_front=*/true);
  ++counts_.requeued;
}

// `lease` has been released and its device did not answer, or answered that it was lost.
void Tracker::lost(const HeldLease& lease, const std::string& why) {
  JobRecord* record = job_of(key_of(lease.id));
  if (!record) return;
  record->tried.push_back(lease.device);
  if (record->attempts < options_.max_attempts) return requeue(lease);
  finish_without_device(sessions_.at(lease.id.session), *record, wire::ResultStatus::kDeviceLost,
                        fmt::format("{} leases were lost, the last on {}: {}", record->attempts, lease.device, why));
}

void Tracker::adopt(Session& session, JobRecord& record, const wire::LeaseId& id, const std::string& device_key, const std::string& agent) {
  leases_.adopt(id, device_key, agent, budget_seconds(record.job));
  record.state = JobState::kLeased;
  record.attempts = 1;
  ++session.leased;
  ++counts_.adopted;
  if (Device* device = registry_.device(device_key)) {
    if (device->leased++ == 0) device->progress = clock_.now();
  }
}

// A device that lost the job is passed over while another one could take it: it may be the device's fault.
bool Tracker::should_avoid(const JobKey& key, const Device& device) const {
  const Session& session = sessions_.at(key.session);
  const JobRecord& record = session.jobs.at(key.seq);
  const auto tried = [&](const std::string& key) { return std::find(record.tried.begin(), record.tried.end(), key) != record.tried.end(); };
  if (record.tried.empty() || !tried(device.info.key)) return false;
  return std::any_of(registry_.devices().begin(), registry_.devices().end(), [&](const auto& other) {
    return !tried(other.first) && registry_.usable(other.second) && matches(session.spec, other.second);
  });
}

std::function<bool(const wire::Uuid&)> Tracker::served_by(const Device& device) const {
  return [this, &device](const wire::Uuid& session) { return matches(sessions_.at(session).spec, device); };
}

std::function<bool(const JobKey&)> Tracker::allowed_on(const Device& device) const {
  return [this, &device](const JobKey& key) { return !should_avoid(key, device); };
}

// Gives every device that wants a lease one, then again, so that few jobs spread over many devices.
void Tracker::dispatch() {
  if (queue_.size() == 0 || hungry_.empty()) return;
  std::map<ConnectionId, wire::Leases> out;
  bool progress = true;
  while (progress && queue_.size() > 0) {
    progress = false;
    const std::vector<std::string> round(hungry_.begin(), hungry_.end());
    for (const std::string& device : round) progress |= grant_one(device, out);
  }
  for (auto& [connection, leases] : out)
    if (!leases.leases.empty()) outbox_.to_agent(connection, std::move(leases));
}

bool Tracker::grant_one(const std::string& key, std::map<ConnectionId, wire::Leases>& out) {
  Device& device = *registry_.device(key);
  const auto picked = queue_.pick(served_by(device), allowed_on(device));
  if (!picked) return false;
  Session& session = sessions_.at(picked->job.session);
  JobRecord& record = session.jobs.at(picked->job.seq);
  const HeldLease& lease = leases_.grant(picked->job, key, device.agent, picked->estimate, budget_seconds(record.job));
  record.state = JobState::kLeased;
  record.queue_s = seconds(clock_.now() - record.submitted);
  ++record.attempts;
  ++session.leased;
  if (device.leased++ == 0) device.progress = clock_.now();
  if (--device.credits == 0) hungry_.erase(key);
  ++counts_.leases;
  const auto bucket = std::lower_bound(TrackerCounts::kLatencyBounds.begin(), TrackerCounts::kLatencyBounds.end(), record.queue_s);
  ++counts_.latency[bucket - TrackerCounts::kLatencyBounds.begin()];
  counts_.latency_sum += record.queue_s;

  const ConnectionId connection = *registry_.agent(device.agent)->connection;
  wire::Leases& message = out[connection];
  message.leases.push_back({lease.id, key, record.job});
  if (message.leases.size() == kLeasesPerMessage) outbox_.to_agent(connection, std::exchange(message, {}));
  return true;
}

// A device without work, while another has leases in store that it could do: half of those are asked back, the newest first.
// The oldest is being worked on.
void Tracker::take_back() {
  for (const std::string& key : hungry_) {
    const Device& idle = *registry_.device(key);
    if (idle.leased > 0) continue;
    std::vector<wire::LeaseId> best;
    double most = 0;
    std::string victim_agent;
    for (const auto& [other_key, other] : registry_.devices()) {
      if (other_key == key || other.leased < 2 || !registry_.agent(other.agent)->connection) continue;
      std::vector<wire::LeaseId> movable;
      const auto held = leases_.of_device(other_key);
      for (size_t i = 1; i < held.size(); ++i)
        if (!held[i]->take_back_asked && matches(sessions_.at(held[i]->id.session).spec, idle) &&
            !should_avoid(key_of(held[i]->id), idle))
          movable.push_back(held[i]->id);
      const double load = static_cast<double>(movable.size()) * std::max(other.mean_seconds, 1e-6);
      if (movable.empty() || load <= most) continue;
      most = load;
      victim_agent = other.agent;
      best.assign(movable.end() - static_cast<std::ptrdiff_t>((movable.size() + 1) / 2), movable.end());
    }
    if (best.empty()) continue;
    for (const wire::LeaseId& id : best) leases_.current(id)->take_back_asked = true;
    counts_.taken_back += best.size();
    outbox_.to_agent(*registry_.agent(victim_agent)->connection, wire::TakeBack{std::move(best)});
  }
}

void Tracker::expire() {
  // Heartbeats say that the agent's connection lives, not that the device gets anywhere: a device that has answered nothing for
  // longer than its jobs may take loses them too.
  for (auto& [key, device] : registry_.devices()) {
    if (device.leased == 0) continue;
    const auto held = leases_.of_device(key);
    double budget = 0;
    for (const HeldLease* lease : held) budget = std::max(budget, lease->budget_s);
    if (seconds(clock_.now() - device.progress) <= budget) continue;
    for (HeldLease* lease : held) lease->deadline = clock_.now();
  }
  const auto late = leases_.expire();
  std::set<std::string> devices;
  for (const HeldLease& lease : late) {
    ++counts_.expired;
    devices.insert(lease.device);
    cancels_[lease.agent].push_back(lease.id);
    queue_.settle(lease.id.session, lease.estimate, 0, false);
    forget_lease(lease);
    lost(lease, "its lease expired");
  }
  for (const std::string& device : devices) strike(device);
}

void Tracker::tick() {
  const auto now = clock_.now();
  expire();
  for (const Unclaimed& entry : leases_.expire_unclaimed()) (entry.result ? acks_ : cancels_)[entry.agent].push_back(entry.id);
  std::vector<wire::Uuid> over;
  for (const auto& [uuid, session] : sessions_)
    if (!session.connection && now - session.gone_at >= options_.session_grace) over.push_back(uuid);
  for (const wire::Uuid& uuid : over) drop_session(uuid);
  for (auto it = pending_blobs_.begin(); it != pending_blobs_.end();) {
    if (it->second.deadline > now && !it->second.waiters.empty()) {
      ++it;
      continue;
    }
    for (const ConnectionId waiter : it->second.waiters) outbox_.to_agent(waiter, wire::Blobs{{}, {it->first}});
    it = pending_blobs_.erase(it);
  }
  registry_.forget_lost(now - options_.forget_lost);
  dispatch();
  take_back();
  notify_devices();
  flush();
}

std::vector<wire::DeviceInfo> Tracker::devices_for(const wire::SessionOpen& spec) const {
  std::vector<wire::DeviceInfo> out;
  for (const auto& [key, device] : registry_.devices())
    if (registry_.present(device, options_.agent_grace) && matches(spec, device)) out.push_back(device.info);
  return out;
}

// Tells the sessions whose devices have changed.
void Tracker::notify_devices() {
  for (auto& [uuid, session] : sessions_) {
    if (!session.connection) continue;
    auto devices = devices_for(session.spec);
    std::vector<std::string> shown;
    for (const wire::DeviceInfo& device : devices) shown.push_back(device.key + " " + device.target);
    if (shown == session.shown_devices) continue;
    session.shown_devices = std::move(shown);
    outbox_.to_session(*session.connection, wire::Devices{std::move(devices)});
  }
}

void Tracker::flush() {
  for (auto& [uuid, results] : std::exchange(results_, {})) {
    const auto session = sessions_.find(uuid);
    if (session == sessions_.end() || !session->second.connection) continue;
    for (size_t at = 0; at < results.size(); at += kResultsPerMessage) {
      const auto first = results.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last = results.begin() + static_cast<std::ptrdiff_t>(std::min(results.size(), at + kResultsPerMessage));
      outbox_.to_session(*session->second.connection, wire::SessionResults{{std::make_move_iterator(first), std::make_move_iterator(last)}});
    }
  }
  for (auto& [name, ids] : std::exchange(cancels_, {}))
    if (const Agent* agent = registry_.agent(name); agent && agent->connection) outbox_.to_agent(*agent->connection, wire::Cancel{std::move(ids)});
  for (auto& [name, ids] : std::exchange(acks_, {}))
    if (const Agent* agent = registry_.agent(name); agent && agent->connection) outbox_.to_agent(*agent->connection, wire::ResultAck{std::move(ids)});
}

}  // namespace hone::tracker
