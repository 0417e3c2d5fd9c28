// What agents say.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/log.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr uint32_t kMaxCredits = 1 << 16;
constexpr size_t kBlobBytesPerMessage = 8 << 20;

double device_seconds(const wire::JobResult& result, const HeldLease& lease, Clock::TimePoint now) {
  const wire::PhaseTimes& p = result.phases;
  const double told = p.transfer + p.build + p.check + p.run + p.reference;
  return told > 0 ? told : std::chrono::duration<double>(now - lease.granted).count();
}

bool all_lost(const wire::JobResult& result) {
  return std::all_of(result.candidates.begin(), result.candidates.end(),
                     [](const wire::CandidateResult& c) { return c.status == wire::ResultStatus::kDeviceLost; });
}

bool mentions(const wire::Job& job, const Hash128& hash) {
  return std::find(job.modules.begin(), job.modules.end(), hash) != job.modules.end() || (job.reference && job.reference->module_hash == hash);
}

}  // namespace

void Tracker::refuse_agent(ConnectionId connection, std::string reason, bool retry) {
  log::warn("refused an agent: {}", reason);
  ++counts_.refused;
  agent_gone(connection);
  outbox_.to_agent(connection, wire::Refused{std::move(reason), retry});
}

bool Tracker::admit(ConnectionId connection, const wire::AgentHello& hello) {
  if (hello.protocol != wire::kProtocolVersion) {
    refuse_agent(connection, fmt::format("agent '{}' speaks protocol {}, the tracker {}", hello.name, hello.protocol, wire::kProtocolVersion), false);
    return false;
  }
  Agent* old = registry_.agent(hello.name);
  if (!old && registry_.agents().size() >= options_.max_agents) {
    refuse_agent(connection, fmt::format("the tracker has {} agents, and takes no more", options_.max_agents), true);
    return false;
  }
  if (!old || !old->connection) return true;
  if (old->instance != hello.instance && clock_.now() - old->heard_at < options_.lease) {
    refuse_agent(connection, fmt::format("an agent called '{}' is already connected", hello.name), true);
    return false;
  }
  const ConnectionId previous = *old->connection;
  agent_gone(previous);
  outbox_.to_agent(previous, wire::Refused{"the agent connected again", true});
  return true;
}

void Tracker::on(ConnectionId connection, Agent*, wire::AgentHello& hello) {
  if (!admit(connection, hello)) return;
  const Agent* old = registry_.agent(hello.name);
  const bool restarted = old && old->instance != hello.instance;
  if (old)
    for (const std::string& key : old->devices) hungry_.erase(key);
  if (const Status status = registry_.connect(hello.name, hello.instance, connection, hello.devices); !status.ok())
    return refuse_agent(connection, message_of(status), false);
  if (restarted) leases_.forget_unclaimed(hello.name);

  // What this process does not hold was lost with the last one, or on its way to this one.
  const std::unordered_set<wire::LeaseId> held(hello.held.begin(), hello.held.end());
  std::vector<HeldLease> gone;
  for (const HeldLease* lease : leases_.of_agent(hello.name))
    if (restarted || !held.contains(lease->id)) gone.push_back(*lease);
  for (const HeldLease& lease : gone) {
    release(key_of(lease.id), 0, false);
    if (restarted) {
      lost(lease, "the agent was restarted");
    } else {
      --job_of(key_of(lease.id))->attempts;
      requeue(lease);
    }
  }
  wire::AgentWelcome welcome;
  welcome.heartbeat_s = std::chrono::duration<double>(options_.heartbeat).count();
  welcome.lease_s = std::chrono::duration<double>(options_.lease).count();
  for (size_t i = 0; i < hello.held.size(); ++i)
    if (!keep_held(hello, hello.held[i], hello.held_devices[i])) welcome.forget.push_back(hello.held[i]);
  log::info("agent {} connected with {} devices, holding {} leases", hello.name, hello.devices.size(), hello.held.size() - welcome.forget.size());
  outbox_.to_agent(connection, std::move(welcome));
  notify_devices();
}

// The agent announced this lease, or its result, when it connected. False: it shall forget it.
bool Tracker::keep_held(const wire::AgentHello& hello, const wire::LeaseId& id, const std::string& device) {
  JobRecord* record = job_of(key_of(id));
  if (!record) {
    for (const Unclaimed& dropped : leases_.keep_unclaimed({id, device, hello.name, {}, {}}, options_.session_grace))
      (dropped.result ? acks_ : cancels_)[dropped.agent].push_back(dropped.id);
    return leases_.is_unclaimed(id);
  }
  switch (record->state) {
    case JobState::kLeased: return leases_.current(id) && leases_.current(id)->agent == hello.name && leases_.extend(id);
    case JobState::kDone: return record->answered == id;
    case JobState::kQueued: break;
  }
  // Queued and never leased by this tracker: the lease is from before its start. Otherwise it was lost and is an old one.
  const Device* known = registry_.device(device);
  if (record->attempts > 0 || !known || known->agent != hello.name) return false;
  queue_.erase(key_of(id));
  adopt(sessions_.at(id.session), *record, id, device, hello.name);
  return true;
}

void Tracker::on(ConnectionId, Agent* agent, wire::Want& want) {
  Device* device = registry_.device(want.device);
  if (!device || device->agent != agent->name) return log::warn("agent {} wants leases for '{}', which is not its device", agent->name, want.device);
  device->credits = std::min(device->credits + want.slots, kMaxCredits);
  if (device->credits > 0 && registry_.usable(*device)) hungry_.insert(want.device);
}

void Tracker::on(ConnectionId, Agent* agent, wire::Heartbeat& heartbeat) {
  for (const wire::LeaseId& id : heartbeat.working) {
    const HeldLease* lease = leases_.current(id);
    if (lease && lease->agent == agent->name)
      leases_.extend(id);
    else if (!leases_.is_unclaimed(id))
      cancels_[agent->name].push_back(id);  // expired, cancelled or finished otherwise
  }
}

void Tracker::on(ConnectionId, Agent* agent, wire::AgentResults& results) {
  for (size_t i = 0; i < results.results.size(); ++i)
    if (!take_result(*agent, results.leases[i], results.results[i])) acks_[agent->name].push_back(results.leases[i]);
}

// False: the agent may forget the result at once. Otherwise it keeps it until the session has committed.
bool Tracker::take_result(const Agent& agent, const wire::LeaseId& id, wire::JobResult& result) {
  JobRecord* record = job_of(key_of(id));
  if (!record) {
    for (const Unclaimed& dropped : leases_.keep_unclaimed({id, result.device, agent.name, {}, result}, options_.session_grace))
      (dropped.result ? acks_ : cancels_)[dropped.agent].push_back(dropped.id);
    return leases_.is_unclaimed(id);
  }
  if (record->state == JobState::kDone && record->answered == id) return true;  // sent again
  Session& session = sessions_.at(id.session);
  const HeldLease* lease = leases_.current(id);
  if (!lease && record->state == JobState::kQueued && record->attempts == 0 && registry_.device(result.device)) {
    queue_.erase(key_of(id));
    adopt(session, *record, id, result.device, agent.name);
    lease = leases_.current(id);
  }
  if (!lease || lease->agent != agent.name) {
    ++counts_.stale;
    return false;
  }
  const HeldLease ended = *lease;
  const double seconds = device_seconds(result, ended, clock_.now());
  release(key_of(id), seconds, true);
  if (Device* device = registry_.device(ended.device)) {
    device->progress = clock_.now();
    device->mean_seconds += 0.2 * (seconds - device->mean_seconds);
    if (result.sentinel_after > 0) device->sentinel_seconds = result.sentinel_after;
    ++device->done;
    if (result.candidates.front().status != wire::ResultStatus::kOk) ++device->failed;
  }
  if (all_lost(result)) {
    strike(ended.device);
    lost(ended, result.candidates.front().message);
    return false;
  }
  judge_device(ended.device, id.session, result.candidates.front().status);
  if (result.candidates.size() != record->job.candidates()) {
    wire::CandidateResult odd;
    odd.status = wire::ResultStatus::kRunFailed;
    odd.message = fmt::format("the agent answered {} candidates of {}", result.candidates.size(), record->job.candidates());
    result.candidates.assign(record->job.candidates(), odd);
  }
  result.device = ended.device;
  record->answered = id;
  record->answered_by = agent.name;
  finish(session, *record, std::move(result));
  return true;
}

// A device whose jobs fail in a row, while others manage jobs of the same session, is at fault itself.
void Tracker::judge_device(const std::string& key, const wire::Uuid& session, wire::ResultStatus status) {
  Device* device = registry_.device(key);
  if (!device) return;
  device->strikes = 0;
  using enum wire::ResultStatus;
  if (status == kInvalidConfig || status == kRejected || status == kCancelled) return;
  if (status != kOk) {
    if (device->failing_session != session) device->failures = device->others_ok = 0;
    device->failing_session = session;
    ++device->failures;
    failing_.insert(key);
    return;
  }
  device->failures = device->others_ok = 0;
  failing_.erase(key);
  for (const std::string& name : std::vector<std::string>(failing_.begin(), failing_.end())) {
    Device* other = registry_.device(name);
    if (!other) {
      failing_.erase(name);
    } else if (other->failing_session == session && ++other->others_ok >= options_.failures / 2 && other->failures >= options_.failures) {
      quarantine(*other, fmt::format("{} jobs in a row failed that went well elsewhere", other->failures));
    }
  }
}

void Tracker::strike(const std::string& key) {
  Device* device = registry_.device(key);
  if (device && ++device->strikes >= options_.strikes)
    quarantine(*device, fmt::format("it lost its leases {} times in a row", device->strikes));
}

void Tracker::quarantine(Device& device, std::string why) {
  if (device.mark != Mark::kNone) return;
  log::warn("device {} is quarantined: {}", device.info.key, why);
  device.mark = Mark::kQuarantined;
  device.mark_is_ours = true;
  device.why = std::move(why);
  hungry_.erase(device.info.key);
  failing_.erase(device.info.key);
}

void Tracker::on(ConnectionId, Agent* agent, wire::GiveBack& give_back) {
  for (const wire::LeaseId& id : give_back.leases) {
    leases_.forget_unclaimed(id);
    const HeldLease* lease = leases_.current(id);
    if (!lease || lease->agent != agent->name) continue;
    const HeldLease ended = *lease;
    release(key_of(id), 0, false);
    --job_of(key_of(id))->attempts;
    requeue(ended);
  }
  log::info("agent {} gave back {} leases: {}", agent->name, give_back.leases.size(), give_back.reason);
}

void Tracker::on(ConnectionId connection, Agent* agent, wire::BlobRequest& request) {
  wire::Blobs reply;
  size_t bytes = 0;
  std::set<wire::Uuid> ask;
  for (const Hash128& hash : request.hashes) {
    if (const auto data = blobs_.get(hash)) {
      if (bytes > 0 && bytes + data->size() > kBlobBytesPerMessage) {
        outbox_.to_agent(connection, std::exchange(reply, {}));
        bytes = 0;
      }
      bytes += data->size();
      reply.blobs.push_back({hash, *data});
      continue;
    }
    if (const auto pending = pending_blobs_.find(hash); pending != pending_blobs_.end()) {
      pending->second.waiters.insert(connection);
      continue;
    }
    // Only sessions whose job the agent holds are asked: others would not have it.
    const auto held = leases_.of_agent(agent->name);
    const auto holder = std::find_if(held.begin(), held.end(), [&](const HeldLease* lease) { return mentions(job_of(key_of(lease->id))->job, hash); });
    if (holder == held.end()) {
      reply.missing.push_back(hash);
      continue;
    }
    pending_blobs_[hash] = {{connection}, (*holder)->id.session, clock_.now() + options_.blob_timeout};
    ask.insert((*holder)->id.session);
  }
  if (!reply.blobs.empty() || !reply.missing.empty()) outbox_.to_agent(connection, std::move(reply));
  for (const wire::Uuid& session : ask) ask_blobs(session);
}

}  // namespace hone::tracker
