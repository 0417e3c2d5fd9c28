// What agents say.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/log_fields.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr uint32_t kMaxCredits = 1 << 16;
// Seconds that an answer's phases may sum up to beyond the lease's time: adopted leases are older.
constexpr double kMaxToldBeyond = 60;

double device_seconds(const wire::JobResult& result, const HeldLease& lease, Clock::TimePoint now) {
  const wire::PhaseTimes& p = result.phases;
  const double told = p.transfer + p.build + p.check + p.run + p.reference;
  const double held = std::chrono::duration<double>(now - lease.granted).count();
  return told > 0 ? std::min(told, held + kMaxToldBeyond) : held;
}

// What an agent and its devices take, their histories and their places in pages included.
size_t bytes_of(const wire::AgentHello& hello) {
  size_t bytes = 4096;
  for (const wire::DeviceInfo& info : hello.devices) {
    size_t text = info.key.size() + info.target.size() + info.model.size() + info.compute_capability.size();
    for (const auto* pairs : {&info.versions, &info.labels})
      for (const auto& [key, value] : *pairs) text += 128 + key.size() + value.size();
    for (const auto* list : {&info.missing, &info.features})
      for (const std::string& one : *list) text += 48 + one.size();
    bytes += (16 << 10) + 4 * text;
  }
  return bytes;
}

bool all_lost(const wire::JobResult& result) {
  return std::all_of(result.candidates.begin(), result.candidates.end(),
                     [](const wire::CandidateResult& c) { return c.status == wire::ResultStatus::kDeviceLost; });
}

}  // namespace

void Tracker::refuse_agent(ConnectionId connection, std::string reason, bool retry) {
  log::event(log::Level::debug, "refused an agent", {{"connection", connection}, {"why", reason}});
  ++counts_.refused;
  agent_gone(connection);
  outbox_.to_agent(connection, wire::Refused{std::move(reason), retry});
}

bool Tracker::admit(ConnectionId connection, const wire::AgentHello& hello) {
  if (hello.protocol != wire::kProtocolVersion) {
    refuse_agent(connection,
                 fmt::format("agent '{}' speaks protocol {}, the tracker {}", hello.name, hello.protocol,
                             wire::kProtocolVersion),
                 false);
    return false;
  }
  Agent* old = registry_.agent(hello.name);
  if (!old && registry_.agents().size() >= options_.max_agents) {
    refuse_agent(connection, fmt::format("the tracker has {} agents, and takes no more", options_.max_agents), true);
    return false;
  }
  const size_t others = registry_.devices().size() - (old ? old->devices.size() : 0);
  if (others + hello.devices.size() > options_.max_devices) {
    refuse_agent(connection,
                 fmt::format("the tracker has {} devices, and takes no more than {}", others, options_.max_devices),
                 true);
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

void Tracker::on(ConnectionId connection, wire::AgentHello& hello, const Tenant& tenant) {
  if (const Status status = DeviceRegistry::check(hello.name, hello.devices); !status.ok())
    return refuse_agent(connection, message_of(status), false);
  if (!admit(connection, hello)) return;
  const auto account = memory_.account(tenant.name, tenant.limits.bytes);
  auto charge = account->take(bytes_of(hello));
  if (!charge)
    return refuse_agent(
        connection,
        fmt::format("no room for its devices: the token's share of the tracker's memory is {} MiB (bytes= of its line)",
                    account->share() >> 20),
        true);
  bool restarted = false;
  if (const Agent* old = registry_.agent(hello.name)) {
    restarted = old->instance != hello.instance;
    for (const std::string& key : old->devices) {
      Device& device = *registry_.device(key);
      const auto stays = std::find_if(hello.devices.begin(), hello.devices.end(),
                                      [&](const wire::DeviceInfo& info) { return info.key == key; });
      if (stays == hello.devices.end() || *stays != device.info) hide(device);
      matching_.remove(device);
      busy_.erase(key);
      quarantined_.erase(key);
    }
  }
  Agent& agent = registry_.connect(hello.name, hello.instance, connection, hello.devices);
  agent.charge = *std::move(charge);
  for (const std::string& key : agent.devices) {
    Device& device = *registry_.device(key);
    matching_.add(device, DeviceRegistry::usable(device));
    if (device.leased > 0) busy_[key] = &device;
    if (device.mark == Mark::kQuarantined && device.mark_is_ours) quarantined_.insert(key);
    note(device, restarted ? "a new agent process connected" : "the agent connected");
    show(device);
  }
  drop_unheld(hello, restarted);
  wire::AgentWelcome welcome;
  welcome.heartbeat_s = std::chrono::duration<double>(options_.heartbeat).count();
  welcome.lease_s = std::chrono::duration<double>(options_.lease).count();
  for (size_t i = 0; i < hello.held.size(); ++i)
    if (!keep_held(hello, hello.held[i], hello.held_devices[i])) welcome.forget.push_back(hello.held[i]);
  log::event(log::Level::info, "an agent connected",
             {{"agent", hello.name},
              {"devices", hello.devices.size()},
              {"leases", hello.held.size() - welcome.forget.size()},
              {"restarted", restarted}});
  outbox_.to_agent(connection, std::move(welcome));
}

// What this process does not hold was lost with the last one, or on its way to this one; or its device is no longer
// there.
void Tracker::drop_unheld(const wire::AgentHello& hello, bool restarted) {
  if (restarted) leases_.forget_unclaimed(hello.name);
  const std::unordered_set<wire::LeaseId> held(hello.held.begin(), hello.held.end());
  std::map<std::string, std::vector<HeldLease>> gone;  // by device, in the order granted
  for (const HeldLease* lease : leases_.of_agent(hello.name))
    if (restarted || !held.contains(lease->id) || !registry_.device(lease->device))
      gone[lease->device].push_back(*lease);
  if (restarted && gone.empty()) {  // it left in order: whatever ailed it may have been seen to
    for (const wire::DeviceInfo& info : hello.devices) {
      Device& device = *registry_.device(info.key);
      device.health.start_afresh();
      if (device.mark == Mark::kQuarantined && device.mark_is_ours)
        end_quarantine(device, Mark::kProbation, "on probation: a new agent process");
    }
  }
  for (auto& [key, leases] : gone) {
    std::sort(leases.begin(), leases.end(),
              [](const HeldLease& a, const HeldLease& b) { return a.id.epoch < b.id.epoch; });
    for (const HeldLease& lease : leases)
      release(key_of(lease.id), restarted && &lease == &leases.front() ? spent(lease) : 0, false);
    if (restarted) {
      lost_together(std::move(leases), "the agent was restarted");
      continue;
    }
    for (auto lease = leases.rbegin(); lease != leases.rend(); ++lease) {  // so that they are queued in their order
      --job_of(key_of(lease->id))->attempts;
      requeue(*lease);
    }
  }
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
    case JobState::kLeased:
      return leases_.current(id) && leases_.current(id)->agent == hello.name && leases_.extend(id);
    case JobState::kDone: return record->answered == id;
    case JobState::kQueued:
    case JobState::kWaiting: break;
  }
  // Queued and never leased by this tracker: the lease is from before its start. Otherwise it was lost and is an old
  // one.
  Session& session = sessions_.at(id.session);
  if (record->attempts > 0 || !may_adopt(session, id, device, hello.name)) return false;
  drop_job(session, *record);
  adopt(session, *record, id, device, hello.name);
  return true;
}

void Tracker::on(ConnectionId connection, Agent* agent, wire::Want& want) {
  Device* device = registry_.device(want.device);
  if (!device || device->agent != agent->name)
    return refuse_agent(
        connection,
        fmt::format("agent '{}' wants leases for '{}', which is no device of its own", agent->name, want.device), true);
  device->credits = std::min(device->credits + want.slots, kMaxCredits);
  refresh(*device);
}

void Tracker::on(ConnectionId, Agent* agent, wire::Heartbeat& heartbeat) {
  for (wire::DeviceHealth& health : heartbeat.health)
    if (Device* device = registry_.device(health.device); device && device->agent == agent->name)
      take_readings(*device, health);
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
    for (const Unclaimed& dropped :
         leases_.keep_unclaimed({id, result.device, agent.name, {}, result}, options_.session_grace))
      (dropped.result ? acks_ : cancels_)[dropped.agent].push_back(dropped.id);
    return leases_.is_unclaimed(id);
  }
  if (record->state == JobState::kDone && record->answered == id) return true;  // sent again
  Session& session = sessions_.at(id.session);
  const HeldLease* lease = leases_.current(id);
  if (!lease && (record->state == JobState::kQueued || record->state == JobState::kWaiting) && record->attempts == 0 &&
      may_adopt(session, id, result.device, agent.name)) {
    drop_job(session, *record);
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
  const wire::ResultStatus status = result.candidates.front().status;
  if (status == wire::ResultStatus::kOk) ++session.ok;
  Device* device = registry_.device(ended.device);
  if (device) note_answer(*device, result, seconds);
  if (all_lost(result)) {
    lost(ended, result.candidates.front().message, /*is_culprit=*/true);
    return false;
  }
  count_phases(result.phases);
  if (device) judge(*device, session, status);
  if (result.candidates.size() != record->job.candidates()) {
    wire::CandidateResult odd;
    odd.status = wire::ResultStatus::kRunFailed;
    odd.message =
        fmt::format("the agent answered {} candidates of {}", result.candidates.size(), record->job.candidates());
    result.candidates.assign(record->job.candidates(), odd);
  }
  result.device = ended.device;
  record->answered = id;
  record->answered_by = agent.name;
  finish(session, *record, std::move(result));
  return true;
}

void Tracker::count_phases(const wire::PhaseTimes& p) {
  const double seconds[] = {p.transfer, p.build, p.check, p.run, p.reference};
  for (size_t i = 0; i < counts_.phases.size(); ++i)
    if (seconds[i] > 0) counts_.phases[i].add(seconds[i]);
}

void Tracker::on(ConnectionId, Agent* agent, wire::GiveBack& give_back) {
  size_t given = 0;
  for (const wire::LeaseId& id : give_back.leases) {
    leases_.forget_unclaimed(id, agent->name);
    const HeldLease* lease = leases_.current(id);
    if (!lease || lease->agent != agent->name) continue;
    const HeldLease ended = *lease;
    release(key_of(id), 0, false);
    --job_of(key_of(id))->attempts;
    requeue(ended);
    ++given;
  }
  if (given > 0)
    log::event(log::Level::info, "leases were given back",
               {{"agent", agent->name}, {"leases", given}, {"why", give_back.reason}});
}

}  // namespace hone::tracker
