// The life of a job: queued, leased, lost or finished.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/log_fields.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr uint64_t kMaxClockSkew = 86'400'000'000;  // a day: epochs start at the wall clock's microseconds

double seconds(Clock::Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

double budget_seconds(const wire::Job& job) {
  if (job.fake) return job.fake->run_seconds + 60;
  const wire::MeasureProfile& p = job.profile;
  // The run deadline is a floor: several times that for slow candidates, which are stopped by their agent.
  return static_cast<double>(job.candidates()) * (p.build_timeout_s + 4 * p.run_timeout_s) +
         (job.reference ? job.reference->timeout_s : 0) + 60;
}

void Tracker::enqueue(Session& session, const JobKey& key, FairQueue::Place place) {
  if (JobRecord& record = session.jobs.at(key.seq); !may_be_leased(session, record))
    return wait_for_modules(session, record);
  if (queue_.size(key.session) == 0) {
    // It joins those that compete for the same devices. Where its devices are served at different levels, the highest
    // one counts: it starves nobody there, and elsewhere it will soon stand lowest.
    std::optional<double> level;
    for (const Pool* pool : session.demand->pools)
      if (const auto lowest = queue_.lowest(pool->groups); lowest && lowest > level) level = lowest;
    if (level) queue_.rise(key.session, *level);
  }
  queue_.push(key, place);
  freshen(*session.demand);
}

// The job has its one result: it stays until the session acknowledges it.
void Tracker::finish(Session& session, JobRecord& record, wire::JobResult result) {
  result.session = session.spec.session;
  result.seq = record.job.seq;
  result.phases.queue = record.queue_s;
  result.attempts = record.attempts;
  const size_t most_times = std::max(record.job.profile.repeats, record.job.profile.refine_repeats);
  for (wire::CandidateResult& candidate : result.candidates) {
    ++counts_.results[static_cast<size_t>(candidate.status)];
    // No agent that does as it is told sends more.
    if (candidate.times.size() > most_times) candidate.times.resize(most_times);
    candidate.times.shrink_to_fit();
  }
  record.state = JobState::kDone;
  ++session.done;
  if (session.connection) results_[session.spec.session].push_back(result);
  record.result = std::move(result);
}

void Tracker::finish_without_device(Session& session, JobRecord& record, wire::ResultStatus status,
                                    std::string message) {
  wire::CandidateResult candidate;
  candidate.status = status;
  candidate.message = std::move(message);
  wire::JobResult result;
  if (!record.tried.empty()) result.device = record.tried.back();
  result.candidates.assign(record.job.candidates(), candidate);
  finish(session, record, std::move(result));
}

// Device seconds a lease has cost that ends without an answer: only the device's oldest was worked on, since its last
// answer.
double Tracker::spent(const HeldLease& lease) const {
  const auto device = registry_.devices().find(lease.device);
  if (device == registry_.devices().end() || leases_.oldest_of_device(lease.device) != lease.id.epoch) return 0;
  return seconds(clock_.now() - std::max(device->second.progress, lease.granted));
}

// The job's lease ends, whatever the reason; the device was busy with it for `device_seconds`.
void Tracker::release(const JobKey& key, double device_seconds, bool learn) {
  if (const auto lease = leases_.release(key)) released(*lease, device_seconds, learn);
}

// The same once the lease is out of the table.
void Tracker::released(const HeldLease& lease, double device_seconds, bool learn) {
  Device* device = registry_.device(lease.device);
  const auto slowness = queue_.settle(lease.id.session, lease.estimate, lease.granted, device_seconds,
                                      device ? device->slowness : 1, learn);
  if (device) {
    if (slowness) device->slowness = std::clamp(device->slowness + 0.1 * (*slowness - device->slowness), 0.01, 100.0);
    lease_removed(*device);
    refresh(*device);
  }
  if (const auto session = sessions_.find(lease.id.session); session != sessions_.end()) {
    --session->second.leased;
    session->second.device_seconds += device_seconds;
  }
}

// `lease` has been released without anyone's fault: the job is next.
void Tracker::requeue(const HeldLease& lease) {
  JobRecord* record = job_of(key_of(lease.id));
  if (!record) return;
  record->state = JobState::kQueued;
  enqueue(sessions_.at(lease.id.session), key_of(lease.id),
          record->tried.empty() ? FairQueue::Place::kFront : FairQueue::Place::kRetry);
  ++counts_.requeued;
}

// `lease` has been released and its device did not answer, or answered that it was lost. The device is the culprit
// unless it was at another job, or the job has cost other devices their leases too.
void Tracker::lost(const HeldLease& lease, const std::string& why, bool is_culprit) {
  const JobKey key = key_of(lease.id);
  JobRecord* record = job_of(key);
  if (!record) return;
  Session& session = sessions_.at(lease.id.session);
  const bool others = std::any_of(record->tried.begin(), record->tried.end(),
                                  [&](const std::string& name) { return name != lease.device; });
  record->tried.push_back(lease.device);
  record->lost_at = clock_.now();
  Device* device = registry_.device(lease.device);
  log::event(log::Level::info, "a lease was lost",
             {{"session", lease.id.session.text()},
              {"job", lease.id.seq},
              {"device", lease.device},
              {"epoch", lease.id.epoch},
              {"why", why}});
  if (others)
    withdraw_strikes(key, record->tried);
  else if (device && is_culprit)
    strike(*device, key);
  if (record->attempts < options_.max_attempts) return requeue(lease);
  if (!others)
    return finish_without_device(
        session, *record, wire::ResultStatus::kDeviceLost,
        fmt::format("{} leases were lost, the last on {}: {}", record->attempts, lease.device, why));
  const std::set<std::string> devices(record->tried.begin(), record->tried.end());
  const std::string message =
      fmt::format("poison: {} leases were lost on {}, the last: {}", record->attempts, fmt::join(devices, ", "), why);
  ++session.poisoned;
  ++counts_.poisoned;
  session.events.add(clock_.now(), fmt::format("job {} is {}", key.seq, message));
  log::event(log::Level::warn, "a job is poison",
             {{"session", lease.id.session.text()},
              {"job", lease.id.seq},
              {"devices", fmt::format("{}", fmt::join(devices, ","))},
              {"why", why}});
  finish_without_device(session, *record, wire::ResultStatus::kDeviceLost, message);
}

// Released leases that one device lost at once, in the order granted. It was at the first of them: the others only
// stood by, which is held against them the second time, in case that the order was another.
void Tracker::lost_together(std::vector<HeldLease> leases, const std::string& why) {
  for (size_t i = leases.size(); i-- > 0;) {  // so that they are queued in their order
    JobRecord* record = job_of(key_of(leases[i].id));
    if (!record) continue;
    if (i == 0 || std::exchange(record->was_bystander, true)) {
      lost(leases[i], why, /*is_culprit=*/i == 0);
    } else {
      --record->attempts;
      requeue(leases[i]);
    }
  }
}

// What an agent says it holds from an earlier run counts for devices of its own that serve the session, and only with
// an epoch that an earlier run can have given: later ones must be above it.
bool Tracker::may_adopt(const Session& session, const wire::LeaseId& id, const std::string& device_key,
                        const std::string& agent) const {
  const auto device = registry_.devices().find(device_key);
  return device != registry_.devices().end() && device->second.agent == agent &&
         matches(session.demand->spec, device->second) && id.epoch < options_.first_epoch + kMaxClockSkew;
}

void Tracker::adopt(Session& session, JobRecord& record, const wire::LeaseId& id, const std::string& device_key,
                    const std::string& agent) {
  leases_.adopt(id, device_key, agent, record.budget_s);
  record.state = JobState::kLeased;
  record.attempts = 1;
  ++session.leased;
  ++counts_.adopted;
  Device& device = *registry_.device(device_key);
  lease_added(device);
  refresh(device);
}

void Tracker::expire() {
  // Heartbeats say that the agent's connection lives, not that the device gets anywhere: a device that has answered
  // nothing for longer than its jobs may take loses them too.
  for (const auto& [key, device] : busy_) {
    const double silent = seconds(clock_.now() - device->progress);
    if (silent <= 60) continue;  // no job has less
    double budget = 0;
    for (const HeldLease* lease : leases_.of_device(key)) budget = std::max(budget, lease->budget_s);
    if (silent > budget) leases_.end_all_of_device(key);
  }
  std::map<std::string, std::vector<HeldLease>> by_device;
  for (HeldLease& lease : leases_.expire()) by_device[lease.device].push_back(std::move(lease));
  for (auto& [key, late] : by_device) {
    std::sort(late.begin(), late.end(), [](const HeldLease& a, const HeldLease& b) { return a.id.epoch < b.id.epoch; });
    Device* device = registry_.device(key);
    const double worked = device ? seconds(clock_.now() - std::max(device->progress, late.front().granted)) : 0;
    for (const HeldLease& lease : late) {
      ++counts_.expired;
      cancels_[lease.agent].push_back(lease.id);
      released(lease, &lease == &late.front() ? worked : 0, false);
    }
    lost_together(std::move(late), "its lease expired");
  }
}

}  // namespace hone::tracker
