#include "tracker/dispatch/lease_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/log_fields.h"

namespace hone::tracker {
namespace {

// Seconds that an answer's phases may sum up to beyond the lease's time: adopted leases are older.
constexpr double kMaxToldBeyond = 60;

double device_seconds(const wire::JobResult& result, const HeldLease& lease, Clock::TimePoint now) {
  const wire::PhaseTimes& p = result.phases;
  const double told = p.transfer + p.build + p.check + p.run + p.reference;
  const double held = std::chrono::duration<double>(now - lease.granted).count();
  return told > 0 ? std::min(told, held + kMaxToldBeyond) : held;
}

bool all_lost(const wire::JobResult& result) {
  return std::all_of(result.candidates.begin(), result.candidates.end(),
                     [](const wire::CandidateResult& c) { return c.status == wire::ResultStatus::kDeviceLost; });
}

}  // namespace

// --- when an agent connects

std::vector<wire::LeaseId> LeaseReports::connected(const wire::AgentHello& hello, bool restarted) {
  drop_unheld(hello, restarted);
  std::vector<wire::LeaseId> forget;
  for (size_t i = 0; i < hello.held.size(); ++i)
    if (!keep_held(hello, hello.held[i], hello.held_devices[i])) forget.push_back(hello.held[i]);
  return forget;
}

// Drops leases that this process does not hold: they were lost with the last process or on the way to this one, or
// their device is gone.
void LeaseReports::drop_unheld(const wire::AgentHello& hello, bool restarted) {
  if (restarted) earlier_.forget_unclaimed(hello.name);
  const std::unordered_set<wire::LeaseId> held(hello.held.begin(), hello.held.end());
  std::map<std::string, std::vector<HeldLease>> gone;  // by device, in the order granted
  for (const HeldLease* lease : dispatch_.leases().of_agent(hello.name))
    if (restarted || !held.contains(lease->id) || !fleet_.device(lease->device)) gone[lease->device].push_back(*lease);
  if (restarted && gone.empty())  // it left in order
    for (const wire::DeviceInfo& info : hello.devices) {
      Device& device = *fleet_.device(info.key);
      dispatch_.apply(device, fleet_.quarantine().restarted(device));
    }
  for (auto& [key, leases] : gone) {
    std::sort(leases.begin(), leases.end(),
              [](const HeldLease& a, const HeldLease& b) { return a.id.epoch < b.id.epoch; });
    for (const HeldLease& lease : leases)
      dispatch_.release(key_of(lease.id), restarted && &lease == &leases.front() ? dispatch_.spent(lease) : 0,
                        /*learn=*/false);
    if (restarted)
      lifecycle_.lost_together(leases, "the agent was restarted");
    else
      lifecycle_.undelivered(leases);
  }
}

// The agent announced this lease, or its result, when it connected. False: it shall forget it.
bool LeaseReports::keep_held(const wire::AgentHello& hello, const wire::LeaseId& id, const std::string& device) {
  JobRecord* record = book_.job(key_of(id));
  if (!record) return keep_unclaimed({id, device, hello.name, {}, {}});
  switch (record->state) {
    case JobState::kLeased: return dispatch_.extend(id, hello.name);
    case JobState::kDone: return record->answered == id;
    case JobState::kQueued:
    case JobState::kWaiting: break;
  }
  return adopt(book_.at(id.session), *record, id, device, hello.name);
}

// The job is queued or waits. If it was never leased by this tracker, the lease is from before its start and counts;
// otherwise it was lost, and is an old one: false.
bool LeaseReports::adopt(Session& session, JobRecord& record, const wire::LeaseId& id, const std::string& device,
                         const std::string& agent) {
  if (record.attempts > 0 || !dispatch_.may_adopt(session, id, device, agent)) return false;
  lifecycle_.drop(session, record);
  dispatch_.adopt(session, record, id, device, agent);
  return true;
}

// --- leases and results that no session has claimed

// False: there is no room for it.
bool LeaseReports::keep_unclaimed(Unclaimed entry) {
  const wire::LeaseId id = entry.id;
  for (const Unclaimed& dropped : earlier_.keep_unclaimed(std::move(entry), options_.session_grace)) forget(dropped);
  return earlier_.is_unclaimed(id);
}

void LeaseReports::forget(const Unclaimed& entry) {
  entry.result ? out_.ack(entry.agent, entry.id) : out_.cancel(entry.agent, entry.id);
}

void LeaseReports::expire() {
  for (const Unclaimed& entry : earlier_.expire_unclaimed()) forget(entry);
}

void LeaseReports::claim(Session& session, JobRecord& record) {
  auto entry = earlier_.claim(key_of(session, record));
  if (!entry || !dispatch_.may_adopt(session, entry->id, entry->device, entry->agent)) {
    if (entry) forget(*entry);
    return lifecycle_.enqueue(session, record, FairQueue::Place::kBack);
  }
  dispatch_.adopt(session, record, entry->id, entry->device, entry->agent);
  if (!entry->result) return;
  if (!take_result(*fleet_.agent(entry->agent), entry->id, *entry->result)) out_.ack(entry->agent, entry->id);
}

// --- while an agent is connected

void LeaseReports::working(const Agent& agent, const std::vector<wire::LeaseId>& leases) {
  for (const wire::LeaseId& id : leases)
    if (!dispatch_.extend(id, agent.name) && !earlier_.is_unclaimed(id))
      out_.cancel(agent.name, id);  // expired, cancelled or finished otherwise
}

void LeaseReports::results(const Agent& agent, wire::AgentResults& results) {
  for (size_t i = 0; i < results.results.size(); ++i)
    if (!take_result(agent, results.leases[i], results.results[i])) out_.ack(agent.name, results.leases[i]);
}

// False: the agent may forget the result at once. Otherwise it keeps it until the session has committed.
bool LeaseReports::take_result(const Agent& agent, const wire::LeaseId& id, wire::JobResult& result) {
  JobRecord* record = book_.job(key_of(id));
  if (!record) return keep_unclaimed({id, result.device, agent.name, {}, result});
  if (record->state == JobState::kDone && record->answered == id) return true;  // sent again
  Session& session = book_.at(id.session);
  const HeldLease* lease = dispatch_.leases().current(id);
  if (!lease && (record->state == JobState::kQueued || record->state == JobState::kWaiting) &&
      adopt(session, *record, id, result.device, agent.name))
    lease = dispatch_.leases().current(id);
  if (!lease || lease->agent != agent.name) {
    ++counts_.stale;
    return false;
  }
  return answered(session, *record, HeldLease(*lease), result);
}

// The lease in force has its answer. False: as above.
bool LeaseReports::answered(Session& session, JobRecord& record, const HeldLease& lease, wire::JobResult& result) {
  const double seconds = device_seconds(result, lease, clock_.now());
  dispatch_.release(key_of(lease.id), seconds, /*learn=*/true);
  const wire::ResultStatus status = result.candidates.front().status;
  if (status == wire::ResultStatus::kOk) ++session.ok;
  Device* device = fleet_.device(lease.device);
  if (device) fleet_.note_answer(*device, result, seconds);
  if (all_lost(result)) {
    lifecycle_.lost(lease, result.candidates.front().message, /*is_culprit=*/true);
    return false;
  }
  count_phases(result.phases);
  if (device) dispatch_.apply(*device, fleet_.quarantine().answered(*device, session.spec.session, session.ok, status));
  if (result.candidates.size() != record.job.candidates()) {
    wire::CandidateResult odd;
    odd.status = wire::ResultStatus::kRunFailed;
    odd.message =
        fmt::format("the agent answered {} candidates of {}", result.candidates.size(), record.job.candidates());
    result.candidates.assign(record.job.candidates(), odd);
  }
  result.device = lease.device;
  record.answered = lease.id;
  record.answered_by = lease.agent;
  lifecycle_.finish(session, record, std::move(result));
  return true;
}

void LeaseReports::count_phases(const wire::PhaseTimes& p) {
  const double seconds[] = {p.transfer, p.build, p.check, p.run, p.reference};
  for (size_t i = 0; i < counts_.phases.size(); ++i)
    if (seconds[i] > 0) counts_.phases[i].add(seconds[i]);
}

void LeaseReports::give_back(const Agent& agent, const wire::GiveBack& give_back) {
  size_t given = 0;
  for (const wire::LeaseId& id : give_back.leases) {
    earlier_.forget_unclaimed(id, agent.name);
    const HeldLease* lease = dispatch_.leases().current(id);
    if (!lease || lease->agent != agent.name) continue;
    lifecycle_.hand_back(HeldLease(*lease));
    ++given;
  }
  if (given > 0)
    log::event(log::Level::info, "leases were given back",
               {{"agent", agent.name}, {"leases", given}, {"why", give_back.reason}});
}

}  // namespace hone::tracker
