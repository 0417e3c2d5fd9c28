#include "tracker/dispatch/job_lifecycle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log_fields.h"

namespace hone::tracker {

void JobLifecycle::enqueue(Session& session, JobRecord& record, FairQueue::Place place) {
  record.state = JobState::kQueued;
  if (!modules_.may_be_leased(session, record)) return modules_.wait_for(session, record);
  queue_.push(session, key_of(session, record), record.tried.empty() ? place : FairQueue::Place::kRetry);
}

// --- leases that ended without a result

// `lease` has been released: the job is next.
void JobLifecycle::requeue(const HeldLease& lease) {
  JobRecord* record = book_.job(key_of(lease.id));
  if (!record) return;
  enqueue(book_.at(lease.id.session), *record, FairQueue::Place::kFront);
  ++counts_.requeued;
}

void JobLifecycle::hand_back(const HeldLease& lease) {
  dispatch_.release(key_of(lease.id), 0, /*learn=*/false);
  --book_.job(key_of(lease.id))->attempts;
  requeue(lease);
}

void JobLifecycle::undelivered(const std::vector<HeldLease>& leases) {
  for (auto lease = leases.rbegin(); lease != leases.rend(); ++lease) {
    --book_.job(key_of(lease->id))->attempts;
    requeue(*lease);
  }
}

void JobLifecycle::lost(const HeldLease& lease, const std::string& why, bool is_culprit) {
  const JobKey key = key_of(lease.id);
  JobRecord* record = book_.job(key);
  if (!record) return;
  Session& session = book_.at(lease.id.session);
  const bool others = std::any_of(record->tried.begin(), record->tried.end(),
                                  [&](const std::string& name) { return name != lease.device; });
  record->tried.push_back(lease.device);
  record->lost_at = clock_.now();
  Device* device = fleet_.device(lease.device);
  log::event(log::Level::info, "a lease was lost",
             {{"session", lease.id.session.text()},
              {"job", lease.id.seq},
              {"device", lease.device},
              {"epoch", lease.id.epoch},
              {"why", why}});
  if (others) {
    for (Device* back : fleet_.quarantine().withdraw_strikes(key, record->tried)) queue_.update(*back);
  } else if (device && is_culprit) {
    dispatch_.apply(*device, fleet_.quarantine().lost(*device, key));
  }
  if (record->attempts < options_.max_attempts) return requeue(lease);
  if (!others)
    return finish_without_device(
        session, *record, wire::ResultStatus::kDeviceLost,
        fmt::format("{} leases were lost, the last on {}: {}", record->attempts, lease.device, why));
  const std::set<std::string> devices(record->tried.begin(), record->tried.end());
  const std::string message =
      fmt::format("given up: {} leases were lost on {}, the last: {}", record->attempts, fmt::join(devices, ", "), why);
  ++session.poisoned;
  ++counts_.poisoned;
  session.events.add(clock_.now(), fmt::format("job {} was {}", key.seq, message));
  log::event(log::Level::warn, "a job is poison",
             {{"session", lease.id.session.text()},
              {"job", lease.id.seq},
              {"devices", fmt::format("{}", fmt::join(devices, ","))},
              {"why", why}});
  finish_without_device(session, *record, wire::ResultStatus::kDeviceLost, message);
}

void JobLifecycle::lost_together(const std::vector<HeldLease>& leases, const std::string& why) {
  for (size_t i = leases.size(); i-- > 0;) {  // so that they are queued in their order
    JobRecord* record = book_.job(key_of(leases[i].id));
    if (!record) continue;
    if (i == 0 || std::exchange(record->was_bystander, true)) {
      lost(leases[i], why, /*is_culprit=*/i == 0);
    } else {
      --record->attempts;
      requeue(leases[i]);
    }
  }
}

void JobLifecycle::expire() {
  for (const auto& [device, late] : dispatch_.take_overdue()) {
    dispatch_.expired(device, late);
    lost_together(late, "its lease expired");
  }
}

// --- the end

void JobLifecycle::finish(Session& session, JobRecord& record, wire::JobResult result) {
  result.session = session.spec.session;
  result.seq = record.job.seq;
  result.phases.queue = record.queue_s;
  result.attempts = record.attempts;
  const size_t most_times = std::max(record.job.profile.repeats, record.job.profile.refine_repeats);
  for (wire::CandidateResult& candidate : result.candidates) {
    ++counts_.results[static_cast<size_t>(candidate.status)];
    // An agent that follows its orders sends no more.
    if (candidate.times.size() > most_times) candidate.times.resize(most_times);
    candidate.times.shrink_to_fit();
  }
  // Nor an object that was not asked for.
  if (!record.job.build) result.built.reset();
  record.state = JobState::kDone;
  ++session.done;
  if (session.connection) out_.result(session.spec.session, result);
  record.result = std::move(result);
}

void JobLifecycle::finish_without_device(Session& session, JobRecord& record, wire::ResultStatus status,
                                         std::string message) {
  wire::CandidateResult candidate;
  candidate.status = status;
  candidate.message = std::move(message);
  wire::JobResult result;
  if (!record.tried.empty()) result.device = record.tried.back();
  result.candidates.assign(record.job.candidates(), candidate);
  finish(session, record, std::move(result));
}

void JobLifecycle::cancel(Session& session, JobRecord& record) {
  if (record.state == JobState::kDone) return;
  drop(session, record);
  finish_without_device(session, record, wire::ResultStatus::kCancelled, "cancelled");
}

void JobLifecycle::drop(Session& session, JobRecord& record) {
  const JobKey key = key_of(session, record);
  switch (record.state) {
    case JobState::kWaiting: modules_.stop_waiting(session, record); break;
    case JobState::kQueued: queue_.erase(key); break;
    case JobState::kLeased: {
      const HeldLease lease = *dispatch_.leases().find(key);
      out_.cancel(lease.agent, lease.id);
      dispatch_.release(key, dispatch_.spent(lease), /*learn=*/false);
      // The jobs that follow are not charged for this time.
      if (Device* device = fleet_.device(lease.device)) device->progress = clock_.now();
      break;
    }
    case JobState::kDone:
      if (record.answered) out_.ack(record.answered_by, *record.answered);
      break;
  }
}

}  // namespace hone::tracker
