#include "tuner/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/cli.h"
#include "base/log.h"
#include "tuner/records.h"
#include "tuner/standings.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{100};
constexpr double kShowEvery = 0.1;
constexpr size_t kBatchesInFlight = 2;
// Give up when so many configs in a row turned out to be programs already known, or so many jobs in a row came back cancelled.
constexpr size_t kMostShared = 2000, kMostCancelled = 256;
constexpr size_t kHurriedFinalists = 3;
constexpr double kConfirmRepeats = 20, kConfirmRepeatMs = 10;

class Session {
 public:
  Session(const SessionSetup& setup, const SessionOptions& options)
      : s_(setup), o_(options), batch_(batch_size(options.batch, options.trials)) {}

  StatusOr<SessionOutcome> run();

 private:
  struct Item {
    std::shared_ptr<const Candidate> candidate;
    uint64_t seq = 0;
    bool waiting = false;  ///< for a result
  };
  using Batch = std::vector<Item>;
  struct Flight {
    std::shared_ptr<const Candidate> candidate;
    wire::MeasureProfile profile;
  };

  Status resume();
  Status measure();
  StatusOr<bool> start_batch();
  StatusOr<Item> start(const Config& config, std::vector<MeasureJob>* jobs);
  Status take_results(milliseconds at_most);
  bool finish_batch();
  std::string reason_to_stop() const;
  Status stop();
  Status confirm();
  std::vector<std::shared_ptr<const Candidate>> finalists() const;
  StatusOr<std::optional<wire::JobResult>> wait_for(uint64_t seq, double seconds);
  Status store(const std::vector<db::TrialRow>& rows);
  StatusOr<SessionOutcome> outcome();
  void show();

  double gflops(double seconds) const { return seconds > 0 ? s_.flops / seconds * 1e-9 : 0; }
  double now() const { return std::chrono::duration<double>(s_.clock.now().time_since_epoch()).count(); }
  size_t new_trials() const { return standings_.trials() - resumed_; }
  /// Adds the time until it goes out of scope to `sum`.
  struct Timer {
    const Session& session;
    double* sum;
    double start = session.now();
    ~Timer() { *sum += session.now() - start; }
  };

  const SessionSetup& s_;
  const SessionOptions& o_;
  const size_t batch_;
  Standings standings_;
  std::deque<Batch> batches_;                     // in flight, oldest first
  std::unordered_map<uint64_t, Flight> flights_;  // single candidates only
  std::unordered_map<std::string, bool> started_programs_;  // hashes in flight or known
  std::map<uint64_t, wire::JobResult> others_;    // results of jobs that are not trials
  uint64_t next_seq_ = 0;
  size_t resumed_ = 0, shared_ = 0, shared_in_a_row_ = 0, cancelled_in_a_row_ = 0, batches_started_ = 0;
  bool default_started_ = false, exhausted_ = false;
  std::string stopped_by_;
  double start_ = 0, ended_ = 0, shown_ = -1;
  Accounting spent_;
};

StatusOr<SessionOutcome> Session::run() {
  start_ = now();
  HONE_RETURN_IF_ERROR(resume());
  HONE_RETURN_IF_ERROR(s_.log.begin({s_.measurer.session(), s_.workload, s_.target, s_.space.fingerprint().hex(), o_.searcher,
                                     static_cast<int64_t>(o_.seed), s_.unix_ms(), std::nullopt, "running"}));
  Status done = measure();
  ended_ = now();
  if (done.ok() && s_.interrupts() < 2) done = confirm();
  show();
  s_.progress.end();
  const char* state = !done.ok() ? "failed" : s_.interrupts() > 0 ? "interrupted" : "done";
  const Status finished = s_.log.finish(s_.measurer.session(), s_.unix_ms(), state);
  HONE_RETURN_IF_ERROR(done);
  HONE_RETURN_IF_ERROR(finished);
  return outcome();
}

// Trials of earlier sessions count, teach the model and are not measured again.
Status Session::resume() {
  // The searcher must not propose the default: it goes first anyway.
  std::vector<Observation> told{{s_.space.default_config(), 0, false}};
  if (!o_.fresh) {
    HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> rows, s_.log.load(s_.workload, s_.target, s_.space.fingerprint().hex()));
    size_t unread = 0;
    for (const db::TrialRow& row : rows) try {
        const Config config = s_.space.parse(row.config);
        const bool first = !standings_.of_config(row.config);
        standings_.add(row);
        if (!row.module_hash.empty()) started_programs_[row.module_hash] = true;
        if (first) told.push_back({config, 0, true});
      } catch (const UserError&) {
        ++unread;
      }
    if (unread > 0) log::warn("{} stored trials have a config that this space cannot read; they are skipped", unread);
    for (Observation& o : told) {
      const Standings::Known* known = standings_.of_config(s_.space.print(o.config));
      if (!known) continue;
      o.score = gflops(known->seconds);
      o.counts = known->status != wire::name(wire::ResultStatus::kDeviceLost);
    }
    resumed_ = standings_.trials();
    default_started_ = standings_.of_config(s_.space.print(s_.space.default_config())) != nullptr;
    if (default_started_) told.erase(told.begin());  // it stands among the rows
  }
  const Timer timer{*this, &spent_.learn};
  const CoreWork work(s_.cores);
  s_.searcher.report(told);
  return absl::OkStatus();
}

Status Session::measure() {
  while (true) {
    if (stopped_by_.empty()) stopped_by_ = reason_to_stop();
    if (!stopped_by_.empty()) return stop();
    while (!exhausted_ && batches_.size() < kBatchesInFlight && s_.interrupts() == 0) {
      HONE_ASSIGN_OR_RETURN(const bool started, start_batch());
      if (!started) break;
    }
    // One at a time: the next batch is proposed before the searcher hears of another, however fast the results came.
    if (finish_batch()) continue;
    if (batches_.empty()) {
      const bool spent = standings_.trials() >= o_.trials;
      if (!spent && !exhausted_) continue;
      stopped_by_ = spent ? "all trials done" : "space exhausted";
      return absl::OkStatus();
    }
    HONE_RETURN_IF_ERROR(take_results(kPoll));
    show();
  }
}

std::string Session::reason_to_stop() const {
  if (s_.interrupts() > 0) return "interrupted";
  if (o_.seconds > 0 && now() - start_ >= o_.seconds) return "time is up";
  if (o_.stop_after > 0 && new_trials() > 0 && standings_.since_gain() >= o_.stop_after) return fmt::format("no gain in {} trials", o_.stop_after);
  return "";
}

// What devices still have is cancelled; what came in is kept.
Status Session::stop() {
  if (flights_.empty()) return absl::OkStatus();
  s_.measurer.cancel_all();
  if (s_.interrupts() >= 2) return absl::OkStatus();
  HONE_RETURN_IF_ERROR(take_results(milliseconds(0)));
  batches_.clear();
  return absl::OkStatus();
}

// False when there is nothing left to propose or no trial left to spend.
StatusOr<bool> Session::start_batch() {
  const size_t committed = standings_.trials() + flights_.size();
  if (committed >= o_.trials) return false;
  // The first batches are small, so that the model hears of something soon.
  const size_t ramp = size_t{8} << std::min<size_t>(batches_started_ / 2, 16);
  const size_t wanted = std::min({batch_, ramp, o_.trials - committed});
  Batch batch;
  std::vector<MeasureJob> jobs;
  std::vector<db::TrialRow> unlowered;
  const CoreWork work(s_.cores);
  const auto add = [&](const Config& config) -> Status {
    HONE_ASSIGN_OR_RETURN(Item item, start(config, &jobs));
    if (!item.candidate->error.empty()) unlowered.push_back(unlowered_row(s_, *item.candidate, item.seq));
    batch.push_back(std::move(item));
    return absl::OkStatus();
  };
  if (!std::exchange(default_started_, true)) HONE_RETURN_IF_ERROR(add(s_.space.default_config()));
  while (jobs.size() + unlowered.size() < wanted && shared_in_a_row_ < kMostShared) {
    std::vector<Proposal> proposed;
    {
      const Timer timer{*this, &spent_.propose};
      proposed = s_.searcher.propose(wanted - jobs.size() - unlowered.size());
    }
    if (proposed.empty()) {
      exhausted_ = true;
      break;
    }
    const Timer timer{*this, &spent_.prepare};
    for (const Proposal& p : proposed) HONE_RETURN_IF_ERROR(add(p.config));
  }
  if (shared_in_a_row_ >= kMostShared) exhausted_ = true;
  if (batch.empty()) return false;
  ++batches_started_;
  HONE_RETURN_IF_ERROR(store(unlowered));
  const Timer timer{*this, &spent_.prepare};
  s_.measurer.submit(std::move(jobs));
  batches_.push_back(std::move(batch));
  return true;
}

// A config whose program is known or in flight shares that program's result.
StatusOr<Session::Item> Session::start(const Config& config, std::vector<MeasureJob>* jobs) {
  Item item{s_.candidates.prepare(config)};
  const Candidate& c = *item.candidate;
  if (!c.error.empty()) {
    item.seq = next_seq_++;
    return item;
  }
  if (!started_programs_.emplace(c.hash.hex(), true).second) {
    ++shared_;
    ++shared_in_a_row_;
    return item;
  }
  shared_in_a_row_ = 0;
  item.seq = next_seq_++;
  item.waiting = true;
  wire::MeasureProfile profile = o_.profile;
  profile.best_seconds = standings_.best_seconds();
  flights_[item.seq] = {item.candidate, profile};
  jobs->push_back({item.seq, {item.candidate}, profile});
  return item;
}

// Stores what came in, then acknowledges it.
Status Session::take_results(milliseconds at_most) {
  StatusOr<std::vector<wire::JobResult>> collected = [&] {
    const Timer timer{*this, &spent_.wait};
    return s_.measurer.collect(at_most);
  }();
  HONE_RETURN_IF_ERROR(collected.status());
  std::vector<db::TrialRow> rows;
  std::vector<uint64_t> seqs;
  for (wire::JobResult& r : *collected) {
    const auto it = flights_.find(r.seq);
    if (it == flights_.end()) {
      others_[r.seq] = std::move(r);
      continue;
    }
    seqs.push_back(r.seq);
    const Flight flight = std::move(it->second);
    flights_.erase(it);
    for (Batch& b : batches_)
      for (Item& i : b)
        if (i.waiting && i.seq == r.seq) i.waiting = false;
    if (r.candidates.size() != 1 || r.candidates[0].status == wire::ResultStatus::kCancelled) {
      if (++cancelled_in_a_row_ >= kMostCancelled)
        return absl::UnavailableError(fmt::format("{} jobs in a row came back cancelled; the tracker may be shutting down", cancelled_in_a_row_));
      continue;
    }
    cancelled_in_a_row_ = 0;
    rows.push_back(trial_row(s_, *flight.candidate, r, 0, flight.profile, false));
    db::PhaseSeconds& sum = spent_.devices;
    const db::PhaseSeconds& p = rows.back().phases;
    sum.queue += p.queue, sum.transfer += p.transfer, sum.build += p.build, sum.check += p.check, sum.run += p.run, sum.reference += p.reference;
  }
  HONE_RETURN_IF_ERROR(store(rows));
  if (!seqs.empty()) s_.measurer.ack(std::move(seqs));
  return absl::OkStatus();
}

Status Session::store(const std::vector<db::TrialRow>& rows) {
  if (rows.empty()) return absl::OkStatus();
  const Timer timer{*this, &spent_.store};
  HONE_RETURN_IF_ERROR(s_.log.add(rows));
  for (const db::TrialRow& row : rows) standings_.add(row);
  return absl::OkStatus();
}

// Tells the searcher of the oldest batch, in the order proposed; false when it is not complete.
bool Session::finish_batch() {
  if (batches_.empty() || std::any_of(batches_.front().begin(), batches_.front().end(), [](const Item& i) { return i.waiting; })) return false;
  std::vector<Observation> outcomes;
  for (const Item& item : batches_.front()) {
    const Candidate& c = *item.candidate;
    const Standings::Known* known = c.error.empty() ? standings_.of_program(c.hash.hex()) : standings_.of_config(c.config_text);
    const bool counts = known && known->status != wire::name(wire::ResultStatus::kDeviceLost);
    outcomes.push_back({c.config, known ? gflops(known->seconds) : 0, counts});
  }
  batches_.pop_front();
  const Timer timer{*this, &spent_.learn};
  const CoreWork work(s_.cores);
  s_.searcher.report(outcomes);
  return true;
}

// The fastest of one noisy measurement each is not the fastest: measure them again side by side, with the default.
Status Session::confirm() {
  const bool hurry = s_.interrupts() > 0;
  if (new_trials() == 0 && standings_.any_confirmed()) return absl::OkStatus();
  std::vector<std::shared_ptr<const Candidate>> candidates = finalists();
  if (candidates.empty()) return absl::OkStatus();
  const Timer timer{*this, &spent_.confirm};
  // All repeats of all finalists together take a second or, for slow programs, a little more; when interrupted a second at most.
  const auto round_seconds = [&] {
    double seconds = 0;
    for (const auto& c : candidates) seconds += std::max(kConfirmRepeatMs * 1e-3, standings_.of_program(c->hash.hex())->seconds);
    return seconds;
  };
  const double most = hurry ? 1.0 : 10.0;
  // They are built again first, which takes up to a tenth of a second each.
  if (hurry && candidates.size() > kHurriedFinalists) candidates.resize(kHurriedFinalists);
  while (hurry && candidates.size() > 1 && 3 * round_seconds() > most) candidates.pop_back();
  wire::MeasureProfile profile = o_.profile;
  profile.best_seconds = 0;
  profile.min_repeat_ms = kConfirmRepeatMs;
  profile.repeats = static_cast<uint32_t>(std::clamp(most / round_seconds(), 3.0, kConfirmRepeats));
  const uint64_t seq = next_seq_++;
  s_.measurer.submit({{seq, candidates, profile}});
  HONE_ASSIGN_OR_RETURN(const std::optional<wire::JobResult> result, wait_for(seq, hurry ? 2.0 : 60.0));
  if (!result || result->candidates.size() != candidates.size()) {
    s_.measurer.cancel_all();
    log::warn("the finalists could not be confirmed in time; the best stays provisional");
    return absl::OkStatus();
  }
  std::vector<db::TrialRow> rows;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (result->candidates[i].status != wire::ResultStatus::kCancelled && result->candidates[i].status != wire::ResultStatus::kDeviceLost)
      rows.push_back(trial_row(s_, *candidates[i], *result, i, profile, true));
  HONE_RETURN_IF_ERROR(store(rows));
  s_.measurer.ack({seq});
  return absl::OkStatus();
}

std::vector<std::shared_ptr<const Candidate>> Session::finalists() const {
  std::vector<std::string> configs = standings_.fastest(o_.finalists);
  const std::string fallback = s_.space.print(s_.space.default_config());
  const Standings::Known* known = standings_.of_config(fallback);
  if (!configs.empty() && known && known->seconds > 0 && std::find(configs.begin(), configs.end(), fallback) == configs.end()) configs.push_back(fallback);
  std::vector<std::shared_ptr<const Candidate>> out;
  for (const std::string& text : configs) {
    auto c = s_.candidates.prepare(s_.space.parse(text));
    // A program that changed since it was measured (another version of Hone) has no time to go by.
    if (c->error.empty() && standings_.of_program(c->hash.hex())) out.push_back(std::move(c));
  }
  return out;
}

StatusOr<std::optional<wire::JobResult>> Session::wait_for(uint64_t seq, double seconds) {
  double deadline = now() + seconds;
  const int interrupts_before = s_.interrupts();
  while (!others_.count(seq) && now() < deadline && s_.interrupts() < 2) {
    if (s_.interrupts() > interrupts_before) deadline = std::min(deadline, now() + 2.0);
    HONE_RETURN_IF_ERROR(take_results(kPoll));
    show();
  }
  const auto it = others_.find(seq);
  if (it == others_.end()) return std::optional<wire::JobResult>();
  return std::optional<wire::JobResult>(it->second);
}

void Session::show() {
  if (ended_ == 0 && now() < shown_ + kShowEvery) return;
  shown_ = now();
  Snapshot shot;
  shot.trials = standings_.trials();
  shot.budget = o_.trials;
  shot.best_gflops = gflops(standings_.best_seconds());
  const double elapsed = (ended_ > 0 ? ended_ : now()) - start_;
  shot.trials_per_second = elapsed > 0 ? static_cast<double>(new_trials()) / elapsed : 0;
  shot.failures = standings_.by_status();
  wire::Summary summary{shot.trials, shot.budget, shot.best_gflops, standings_.best_seconds(), shot.trials_per_second, shot.failures, ""};
  if (const auto best = standings_.best()) summary.best_config = best->config;
  shot.failures.erase("ok");
  if (shot.trials_per_second > 0) shot.seconds_left = static_cast<double>(o_.trials - std::min(o_.trials, shot.trials)) / shot.trials_per_second;
  if (o_.seconds > 0) {
    const double left = std::max(0.0, o_.seconds - elapsed);
    shot.seconds_left = shot.seconds_left < 0 ? left : std::min(left, shot.seconds_left);
  }
  shot.trouble = s_.measurer.trouble();
  s_.progress.show(shot);
  s_.measurer.report(summary);
}

StatusOr<SessionOutcome> Session::outcome() {
  SessionOutcome out;
  out.best = standings_.best();
  out.default_config = standings_.ranked(s_.space.print(s_.space.default_config()));
  out.trials = standings_.trials();
  out.resumed = resumed_;
  out.shared = shared_;
  out.by_status = standings_.by_status();
  out.stopped_by = stopped_by_;
  out.interrupted = s_.interrupts() > 0;
  out.accounting = spent_;
  out.accounting.total = now() - start_;
  if (out.best || out.interrupted) return out;
  if (out.trials == 0) return all_failed_error(fmt::format("no candidate was measured ({})", stopped_by_));
  std::string counts;
  for (const auto& [status, n] : out.by_status) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", n, status);
  return all_failed_error(fmt::format("none of {} candidates gave a time: {}; the first: {}", out.trials, counts, standings_.first_failure()));
}

}  // namespace

size_t batch_size(size_t asked, size_t trials) { return asked > 0 ? asked : std::clamp<size_t>(trials / 8, 8, 64); }

StatusOr<SessionOutcome> run_session(const SessionSetup& setup, const SessionOptions& options) { return Session(setup, options).run(); }

}  // namespace hone
