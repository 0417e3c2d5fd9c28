#include "tuner/session/session_jobs.h"

#include <fmt/format.h>

#include "tuner/session/records.h"

namespace hone {
namespace {

// Give up after this many cancelled jobs in a row.
constexpr size_t kMostCancelled = 256;
// How often a job is submitted again when it came back cancelled although this session did not cancel it.
constexpr size_t kMoreAttempts = 3;

}  // namespace

std::vector<uint64_t> SessionJobs::submit(std::vector<Trial> trials) {
  std::vector<uint64_t> seqs;
  for (Trial& t : trials) {
    seqs.push_back(t.seq = next_seq());
    waiting_.insert(t.seq);
  }
  hand_over(std::move(trials));
  return seqs;
}

void SessionJobs::hand_over(std::vector<Trial> trials) {
  std::vector<MeasureJob> jobs;
  for (Trial& t : trials) {
    const uint64_t seq = t.cancelled == 0 ? t.seq : next_seq();
    jobs.push_back({seq, {t.candidate}, t.profile, t.task});
    trials_[seq] = std::move(t);
  }
  const double start = now();
  if (!jobs.empty()) s_.measurer.submit(std::move(jobs));
  spent_.submit += now() - start;
}

uint64_t SessionJobs::submit(size_t task, std::vector<std::shared_ptr<const Candidate>> candidates,
                             const wire::MeasureProfile& profile) {
  const uint64_t seq = next_seq();
  s_.measurer.submit({{seq, std::move(candidates), profile, task}});
  return seq;
}

Status SessionJobs::take(std::chrono::milliseconds at_most) {
  const double start = now();
  StatusOr<std::vector<wire::JobResult>> collected = s_.measurer.collect(at_most);
  spent_.wait += now() - start;
  HONE_RETURN_IF_ERROR(collected.status());
  std::map<size_t, std::vector<db::TrialRow>> rows;  // by task
  std::vector<uint64_t> seqs;
  std::vector<Trial> again;
  bool given_up = false;
  for (wire::JobResult& r : *collected) {
    const auto it = trials_.find(r.seq);
    if (it == trials_.end()) {
      others_[r.seq] = std::move(r);
      continue;
    }
    seqs.push_back(r.seq);
    Trial trial = std::move(it->second);
    trials_.erase(it);
    if (r.candidates.size() != 1 || r.candidates[0].status == wire::ResultStatus::kCancelled) {
      if (!stopping_) given_up = ++cancelled_in_a_row_ >= kMostCancelled || given_up;
      if (!stopping_ && ++trial.cancelled <= kMoreAttempts) {
        again.push_back(std::move(trial));
      } else {
        waiting_.erase(trial.seq);
      }
      continue;
    }
    waiting_.erase(trial.seq);
    cancelled_in_a_row_ = 0;
    if (!r.device.empty()) devices_.insert(r.device);
    Tally& tally = tallies_[trial.batch];
    tally.idle += std::max(0.0, r.phases.idle);
    tally.drifted += r.drifted;
    rows[trial.task].push_back(trial_row(tasks_[trial.task].setup(), s_, *trial.candidate, r, 0, trial.profile, false));
    db::PhaseSeconds& sum = spent_.devices;
    const db::PhaseSeconds& p = rows[trial.task].back().phases;
    sum.queue += p.queue, sum.transfer += p.transfer, sum.build += p.build, sum.check += p.check, sum.run += p.run,
        sum.reference += p.reference;
  }
  spent_.devices_seen = devices_.size();
  // A log that fails still gets all results that came in: it may be able to keep them elsewhere.
  Status stored;
  for (const auto& [task, of_task] : rows) stored.Update(store(task, of_task));
  HONE_RETURN_IF_ERROR(stored);
  if (!seqs.empty()) s_.measurer.ack(std::move(seqs));
  // Returned only now, so that the results that came in with the cancelled jobs are kept.
  if (given_up)
    return absl::UnavailableError(
        fmt::format("{} jobs in a row came back cancelled; the tracker may be shutting down", kMostCancelled));
  hand_over(std::move(again));
  return absl::OkStatus();
}

Status SessionJobs::store(size_t task, const std::vector<db::TrialRow>& rows) {
  if (rows.empty()) return absl::OkStatus();
  const double start = now();
  HONE_RETURN_IF_ERROR(s_.log.add(rows));
  spent_.store += now() - start;
  for (const db::TrialRow& row : rows) {
    tasks_[task].standings().add(row);
    if (row.disturbed) ++spent_.disturbed_by[db::disturbed_by(row.machine)];
  }
  return absl::OkStatus();
}

size_t SessionJobs::in_flight(size_t task) const {
  size_t n = 0;
  for (const auto& [seq, trial] : trials_) n += trial.task == task;
  return n;
}

SessionJobs::Tally SessionJobs::take_tally(uint64_t batch) {
  const Tally tally = tallies_[batch];
  tallies_.erase(batch);
  return tally;
}

std::optional<wire::JobResult> SessionJobs::take_result(uint64_t seq) {
  const auto it = others_.find(seq);
  if (it == others_.end()) return std::nullopt;
  std::optional<wire::JobResult> result(std::move(it->second));
  others_.erase(it);
  return result;
}

}  // namespace hone
