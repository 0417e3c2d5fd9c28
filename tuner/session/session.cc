#include "tuner/session/session.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/exit_code.h"
#include "compiler/schedule/config_name.h"
#include "tuner/session/confirm.h"
#include "tuner/session/records.h"
#include "tuner/session/total_course.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

constexpr double kShowEvery = 0.1;
constexpr char kNothingMeasured[] = "no candidate was measured";
// Devices have work while the searcher learns from one batch and proposes the next. An agent holds two builds' worth of
// jobs: more devices need more.
constexpr size_t kBatchesInFlight = 2, kJobsPerDevice = 16;
// How many trials tell the rate of those to come: the first ones wait for builders to start and for the first batch.
constexpr size_t kLeastToJudge = 16, kMostToCome = 20;  // kMostToCome: for each one measured
constexpr size_t kWarmUp = 8;                           // trials of each task before the gains are compared
constexpr size_t kManyTrials = 32;  // of each task: where there are more, time ends a search before trials do

class Session {
 public:
  Session(const std::vector<TaskSetup>& tasks, const SessionServices& services, const SessionOptions& options)
      : s_(services),
        o_(options),
        batch_(batch_size(options.batch, options.trials / std::max<size_t>(1, tasks.size()))),
        tasks_(tasks.begin(), tasks.end()),
        session_jobs_(s_, tasks_, spent_) {}

  StatusOr<TasksOutcome> run();

 private:
  struct Item {
    SearchWorker::Prepared prepared;
    uint64_t seq = 0;
  };
  struct Batch {
    uint64_t number = 0;
    size_t task = 0;
    bool proposed = false;  // the searcher has answered
    std::vector<Item> items;
  };

  Status resume();
  Status begin();
  Status measure();
  bool ask();
  std::optional<size_t> choose() const;
  Status take_proposals();
  Status start(Batch& batch, const SearchWorker::Answer& answer);
  size_t jobs_of_batches() const;
  bool complete(const Batch& batch) const;
  Status finish(const Batch& batch);
  bool left_alone(const TaskRun& t) const;
  std::string reason_to_stop() const;
  std::string no_gain() const { return fmt::format("no gain in {} trials", o_.stop_after); }
  bool all_exhausted() const {
    return std::all_of(tasks_.begin(), tasks_.end(), [](const TaskRun& t) { return t.exhausted; });
  }
  Status stop();
  StatusOr<TasksOutcome> outcome();
  // Seconds of a task: with the best config and with the default; 0: not measured yet.
  struct TaskTimes {
    double best = 0, fallback = 0;
    double default_or_best() const { return fallback > 0 ? fallback : best; }
  };
  TaskTimes times_of(const TaskRun& t) const;
  wire::ModelSummary model_summary(const ModelProgress& m) const;
  ModelProgress model_progress() const;
  void follow_total();
  void show();
  void show_now();

  double now() const { return std::chrono::duration<double>(s_.clock.now().time_since_epoch()).count(); }
  size_t trials() const {
    return std::accumulate(tasks_.begin(), tasks_.end(), size_t{0},
                           [](size_t n, const TaskRun& t) { return n + t.standings().trials(); });
  }
  size_t resumed() const {
    return std::accumulate(tasks_.begin(), tasks_.end(), size_t{0},
                           [](size_t n, const TaskRun& t) { return n + t.resumed(); });
  }

  const SessionServices& s_;
  const SessionOptions& o_;
  const size_t batch_;
  Accounting spent_;
  std::vector<TaskRun> tasks_;
  SessionJobs session_jobs_;
  TotalCourse total_;          // of a model's tasks that have times, since another one had its first
  size_t missing_ = 0;         // tasks without one
  std::deque<Batch> batches_;  // in flight, oldest first; only the last one may still wait for its proposals
  uint64_t batches_asked_ = 0;
  int64_t batches_done_ = 0;
  std::string stopped_by_;
  double start_ = 0, ended_ = 0, shown_ = -1;
  std::unique_ptr<SearchWorker> worker_;  // last: it ends before the members above are destroyed
};

StatusOr<TasksOutcome> Session::run() {
  start_ = now();
  HONE_RETURN_IF_ERROR(resume());
  HONE_RETURN_IF_ERROR(begin());
  // `until`: of a session whose time is limited.
  const auto confirm = [&](Finalists which, double until) {
    const double start = now(), seconds = o_.confirm_seconds > 0 ? std::max(until - start, 0.1) : 0;
    Status confirmed = confirm_finalists(which, seconds, tasks_, s_, o_, session_jobs_, *worker_, [this] { show(); });
    spent_.confirm += now() - start;
    return confirmed;
  };
  // The machine may be quiet now, but not for long.
  Status done = confirm(Finalists::kDisturbed, start_ + std::min(o_.confirm_seconds, o_.seconds / 4));
  if (done.ok()) done = measure();
  ended_ = now();
  spent_.measure = ended_ - start_ - spent_.confirm;
  if (done.ok() && s_.interrupts() < 2) done = confirm(Finalists::kNew, start_ + o_.seconds + o_.confirm_seconds);
  const SearchWorker::Spent searched = worker_->spent();
  spent_.propose = searched.propose, spent_.prepare = searched.prepare, spent_.learn = searched.learn;
  worker_.reset();
  show_now();
  s_.progress.end();
  const char* state = !done.ok() ? "failed" : s_.interrupts() > 0 ? "interrupted" : "done";
  const Status finished = s_.log.finish(s_.measurer.session(), s_.unix_ms(), state);
  HONE_RETURN_IF_ERROR(done);
  HONE_RETURN_IF_ERROR(finished);
  return outcome();
}

Status Session::resume() {
  std::vector<SearchedTask> searched;
  std::vector<std::vector<Observation>> told;
  for (TaskRun& t : tasks_) {
    searched.push_back({&t.setup().space, &t.setup().candidates, &t.setup().searcher, {}});
    HONE_ASSIGN_OR_RETURN(std::vector<Observation> of_task, t.resume(s_.log, o_.fresh, &searched.back()));
    told.push_back(std::move(of_task));
  }
  worker_ = std::make_unique<SearchWorker>(std::move(searched), s_.cores, s_.clock, [this] { s_.measurer.wake(); });
  for (size_t t = 0; t < told.size(); ++t) worker_->report(t, std::move(told[t]));
  return absl::OkStatus();
}

Status Session::begin() {
  db::SessionRow row{s_.measurer.session(),
                     "",
                     tasks_[0].setup().target,
                     "",
                     o_.searcher,
                     static_cast<int64_t>(o_.seed),
                     s_.unix_ms(),
                     std::nullopt,
                     "running"};
  if (tasks_.size() == 1) {
    row.workload = tasks_[0].setup().workload;
    row.space = tasks_[0].setup().space.fingerprint().hex();
  }
  return s_.log.begin(row);
}

Status Session::measure() {
  while (true) {
    if (stopped_by_.empty()) stopped_by_ = reason_to_stop();
    if (!stopped_by_.empty()) return stop();
    HONE_RETURN_IF_ERROR(take_proposals());
    // One request at a time and in turn: each batch is proposed with the outcomes of exactly the batches before it
    // reported, independent of the speed of results and proposals.
    if (batches_.empty() || batches_.back().proposed) {
      if (ask()) continue;
      if (!batches_.empty() && complete(batches_.front())) {
        const Batch batch = std::move(batches_.front());
        batches_.pop_front();
        HONE_RETURN_IF_ERROR(finish(batch));
        continue;
      }
      if (batches_.empty()) {
        stopped_by_ = trials() >= o_.trials ? "all trials done" : all_exhausted() ? "space exhausted" : no_gain();
        return absl::OkStatus();
      }
    }
    if (session_jobs_.in_flight() == 0) {
      const double start = now();
      worker_->wait(kPoll);
      spent_.think += now() - start;
    } else {
      HONE_RETURN_IF_ERROR(session_jobs_.take(kPoll));
    }
    show();
  }
}

bool Session::left_alone(const TaskRun& t) const {
  return t.exhausted || (o_.stop_after > 0 && t.reported_trials() > 0 && t.reported_since_gain() >= o_.stop_after);
}

std::string Session::reason_to_stop() const {
  if (s_.interrupts() > 0) return "interrupted";
  if (o_.seconds > 0 && now() - start_ >= o_.seconds) return "time is up";
  if (o_.is_model) {
    const size_t window = gains_window(tasks_.size());
    if (const auto gain = total_.gain_of_latest(window); gain && *gain < kLeastGain)
      return fmt::format("the latest {} trials gained less than {:.1f}% of the model", window, 100 * kLeastGain);
  }
  if (o_.stop_after == 0 || all_exhausted()) return "";
  // Results count at once, reported or not; results of an exhausted space may still be on their way.
  for (size_t t = 0; t < tasks_.size(); ++t) {
    const bool no_more = tasks_[t].exhausted && session_jobs_.in_flight(t) == 0;
    if (!no_more && (tasks_[t].new_trials() == 0 || tasks_[t].standings().since_gain() < o_.stop_after)) return "";
  }
  return no_gain();
}

// Cancels the jobs that devices still have. Results that came in are kept, and batches that are complete are recorded.
Status Session::stop() {
  worker_->drop();
  const bool under_way = session_jobs_.in_flight() > 0;
  if (under_way) {
    session_jobs_.stopping();
    s_.measurer.cancel_all();
  }
  if (s_.interrupts() >= 2) return absl::OkStatus();
  if (under_way) HONE_RETURN_IF_ERROR(session_jobs_.take(milliseconds(0)));
  const std::deque<Batch> batches = std::exchange(batches_, {});
  for (const Batch& batch : batches)
    if (batch.proposed && complete(batch)) HONE_RETURN_IF_ERROR(finish(batch));
  return absl::OkStatus();
}

std::optional<size_t> Session::choose() const {
  // Where trials are few, they end the search, and each task has its share of them.
  const bool is_short_of_time = o_.seconds > 0 && o_.trials > kManyTrials * tasks_.size();
  std::vector<TaskCourse> courses;
  for (size_t t = 0; t < tasks_.size(); ++t)
    courses.push_back(tasks_[t].course(session_jobs_.in_flight(t), left_alone(tasks_[t]), is_short_of_time));
  return next_task(courses, std::min(kWarmUp, std::max<size_t>(1, o_.trials / tasks_.size())), batch_);
}

// Asks the searcher for another batch; false when enough are in flight, or no task has any left.
bool Session::ask() {
  if (batches_.size() >= kBatchesInFlight && jobs_of_batches() >= kJobsPerDevice * o_.devices) return false;
  const size_t committed = trials() + session_jobs_.in_flight();
  if (committed >= o_.trials) return false;
  const std::optional<size_t> chosen = choose();
  if (!chosen) return false;
  TaskRun& task = tasks_[*chosen];
  size_t wanted = std::min({batch_, task.ramp(), o_.trials - committed});
  // Every task has its turn, however few trials there are.
  if (task.batches == 0) wanted = std::min(wanted, std::max<size_t>(1, o_.trials / tasks_.size()));
  ++task.batches;
  worker_->propose(*chosen, wanted, !std::exchange(task.default_started, true));
  batches_.push_back({batches_asked_++, *chosen, false, {}});
  return true;
}

Status Session::take_proposals() {
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const std::unique_ptr<SearchWorker::Answer> answer, worker_->take());
    if (!answer) return absl::OkStatus();
    HONE_RETURN_IF_ERROR(start(batches_.back(), *answer));
  }
}

// A config whose program is known or in flight shares that program's result; one that cannot be lowered becomes a trial
// at once.
Status Session::start(Batch& batch, const SearchWorker::Answer& answer) {
  TaskRun& task = tasks_[batch.task];
  batch.proposed = true;
  task.exhausted = task.exhausted || answer.exhausted;
  wire::MeasureProfile profile = task.setup().profile_of(o_.profile);
  profile.best_seconds = task.reported_best();
  std::vector<db::TrialRow> unlowered;
  std::vector<SessionJobs::Trial> trials;
  std::vector<size_t> at;
  for (const SearchWorker::Prepared& p : answer.items) {
    batch.items.push_back({p});
    if (!p.fresh) {
      ++task.shared;
    } else if (!p.candidate->error.empty()) {
      batch.items.back().seq = session_jobs_.next_seq();
      unlowered.push_back(unlowered_row(task.setup(), s_, *p.candidate, batch.items.back().seq));
    } else {
      trials.push_back({batch.task, batch.number, p.candidate, profile});
      at.push_back(batch.items.size() - 1);
    }
  }
  HONE_RETURN_IF_ERROR(session_jobs_.store(batch.task, unlowered));
  const std::vector<uint64_t> seqs = session_jobs_.submit(std::move(trials));
  for (size_t i = 0; i < at.size(); ++i) batch.items[at[i]].seq = seqs[i];
  return absl::OkStatus();
}

// Counts proposals, not results: the arrival of results must not decide when the next batch is proposed.
size_t Session::jobs_of_batches() const {
  size_t jobs = 0;
  for (const Batch& b : batches_)
    for (const Item& i : b.items) jobs += i.prepared.fresh;
  return jobs;
}

bool Session::complete(const Batch& batch) const {
  return std::none_of(batch.items.begin(), batch.items.end(),
                      [&](const Item& i) { return i.prepared.fresh && session_jobs_.waits_for(i.seq); });
}

// Reports a batch to the searcher, in the order proposed, and records the batch.
Status Session::finish(const Batch& batch) {
  TaskRun& task = tasks_[batch.task];
  const Standings& standings = task.standings();
  std::vector<Observation> outcomes;
  std::vector<Guess> guesses;
  db::BatchRow row{s_.measurer.session(), batches_done_, task.setup().workload, task.setup().target,
                   task.setup().space.fingerprint().hex()};
  for (const Item& item : batch.items) {
    const Candidate& c = *item.prepared.candidate;
    const Standings::Known* known =
        c.error.empty() ? standings.of_program(c.hash.hex()) : standings.of_config(c.config_text);
    const bool counts = known && known->status != wire::name(wire::ResultStatus::kDeviceLost);
    outcomes.push_back({c.config, known ? task.gflops(known->seconds) : 0, counts});
    if (!item.prepared.fresh || !known) continue;
    ++row.trials;
    if (counts) guesses.push_back({item.prepared.predicted, outcomes.back().score});
  }
  task.report(outcomes);
  const Accuracy accuracy = accuracy_of(guesses);
  task.recent.add(accuracy);
  task.all.add(accuracy);
  const SessionJobs::Tally tally = session_jobs_.take_tally(batch.number);
  spent_.idle += tally.idle;
  // When the search is over the finalists are next: no more proposals.
  if (stopped_by_.empty()) worker_->report(batch.task, std::move(outcomes));
  if (row.trials == 0) return absl::OkStatus();
  ++batches_done_;
  ++spent_.batches;
  spent_.drifted_batches += tally.drifted > 0;
  row.known = static_cast<int64_t>(standings.trials());
  row.pairwise = accuracy.pairwise, row.peak1 = accuracy.peak1, row.peak5 = accuracy.peak5;
  row.idle = tally.idle, row.drifted = tally.drifted;
  row.finished = s_.unix_ms();
  const double start = now();
  HONE_RETURN_IF_ERROR(s_.log.add_batch(row));
  spent_.store += now() - start;
  if (o_.is_model) follow_total();
  return absl::OkStatus();
}

// During the search single measurements are compared, afterwards confirmed times where they are side by side.
Session::TaskTimes Session::times_of(const TaskRun& t) const {
  TaskTimes out{t.standings().best_seconds(), 0};
  if (out.best <= 0) return {};
  const Standings::Known* first = t.standings().of_config(t.default_text());
  out.fallback = first ? first->seconds : 0;
  if (ended_ > 0) {
    const std::optional<Ranked> confirmed = t.standings().best(), beside = t.standings().ranked(t.default_text());
    if (confirmed && beside && side_by_side(*confirmed, *beside)) out = {confirmed->seconds, beside->seconds};
  }
  return out;
}

// For the tracker's dashboard.
wire::ModelSummary Session::model_summary(const ModelProgress& m) const {
  const bool is_known = m.missing == 0;
  wire::ModelSummary out{is_known ? m.seconds : 0, is_known ? m.default_seconds : 0, tasks_.size(), m.missing, {}};
  out.measured_seconds = m.seconds, out.measured_default_seconds = m.default_seconds;
  for (const TaskRun& t : tasks_)
    if (const TaskTimes times = times_of(t); times.best > 0) {
      const Space& space = t.setup().space;
      const std::optional<Ranked> best = t.standings().best();
      out.slowest.push_back({t.setup().workload, t.setup().weight, times.best, times.default_or_best(),
                             t.standings().trials(), best ? config_name(space, space.parse(best->config)) : ""});
    }
  std::stable_sort(out.slowest.begin(), out.slowest.end(), [](const wire::TaskSummary& a, const wire::TaskSummary& b) {
    return a.count * a.seconds > b.count * b.seconds;
  });
  if (out.slowest.size() > wire::ModelSummary::kMaxTasks) out.slowest.resize(wire::ModelSummary::kMaxTasks);
  return out;
}

ModelProgress Session::model_progress() const {
  ModelProgress m;
  for (const TaskRun& t : tasks_) {
    const TaskTimes times = times_of(t);
    double best = times.best, fallback = times.default_or_best();
    // The model's time as it is now stands for a task that is not measured, or was not found to be faster.
    const double now_seconds = t.setup().seconds_now;
    if (best <= 0) best = fallback = now_seconds;
    if (now_seconds > 0) best = std::min(best, now_seconds);
    if (best <= 0) {
      ++m.missing;
      continue;
    }
    m.seconds += t.setup().weight * best;
    m.default_seconds += t.setup().weight * fallback;
  }
  if (ended_ == 0) m.gain_per_minute = total_.gain_per_minute();
  return m;
}

// Called after every batch: conditions for the search's end do not depend on who watches it.
void Session::follow_total() {
  const ModelProgress m = model_progress();
  if (m.missing == tasks_.size()) return;
  if (std::exchange(missing_, m.missing) != m.missing) total_ = {};
  total_.add(now() - start_, trials() - resumed(), m.seconds);
}

void Session::show() {
  if (now() >= shown_ + kShowEvery) show_now();
}

void Session::show_now() {
  shown_ = now();
  Snapshot shot;
  shot.trials = trials();
  shot.budget = o_.trials;
  const double elapsed = (ended_ > 0 ? ended_ : now()) - start_;
  shot.trials_per_second = elapsed > 0 ? static_cast<double>(shot.trials - resumed()) / elapsed : 0;
  wire::Summary summary{shot.trials, shot.budget, 0, 0, shot.trials_per_second, {}, "", {}};
  double flops = 0;
  bool all_run = true, all_default = true;
  for (const TaskRun& t : tasks_) {
    const auto [best, fallback] = times_of(t);
    shot.tasks.push_back({t.setup().label.empty() ? t.setup().workload : t.setup().label, t.standings().trials(),
                          t.gflops(best), best > 0 ? fallback / best : 0, t.recent.mean().pairwise});
    for (const auto& [status, n] : t.standings().by_status()) summary.by_status[status] += n;
    all_run = all_run && best > 0;
    flops += t.setup().weight * t.setup().flops;
    summary.best_seconds += t.setup().weight * best;
    shot.default_seconds += t.setup().weight * fallback;
    all_default = all_default && fallback > 0;
  }
  if (all_run) summary.best_gflops = flops / summary.best_seconds * 1e-9;
  if (!all_run) summary.best_seconds = 0;
  if (tasks_.size() == 1) {
    // With a single task its own time is shown, not the weighted one.
    summary.best_seconds = tasks_[0].setup().weight > 0 ? summary.best_seconds / tasks_[0].setup().weight : 0;
    const Space& space = tasks_[0].setup().space;
    if (const auto best = tasks_[0].standings().best()) {
      const Config config = space.parse(best->config);
      summary.best_config = space.describe(config), summary.best_config_name = config_name(space, config);
    }
  }
  shot.best_gflops = summary.best_gflops;
  shot.best_seconds = summary.best_seconds;
  if (!all_default) shot.default_seconds = 0;
  shot.failures = summary.by_status;
  shot.failures.erase("ok");
  const size_t to_come = o_.trials - std::min(o_.trials, shot.trials), measured = shot.trials - resumed();
  if (shot.trials_per_second > 0 && measured >= std::max(kLeastToJudge, to_come / kMostToCome))
    shot.seconds_left = static_cast<double>(to_come) / shot.trials_per_second;
  if (ended_ > 0) {
    shot.phase = s_.interrupts() > 0 ? "interrupted, confirming" : "confirming";
    shot.seconds_left = o_.confirm_seconds > 0
                            ? std::max(0.0, o_.seconds + o_.confirm_seconds - (now() - start_)) + o_.after_seconds
                            : -1;
  } else if (o_.seconds > 0) {
    const double left = std::max(0.0, o_.seconds - elapsed);
    shot.seconds_left =
        (shot.seconds_left < 0 ? left : std::min(left, shot.seconds_left)) + o_.confirm_seconds + o_.after_seconds;
  }
  if (s_.interrupts() > 0) shot.seconds_left = -1;
  if (o_.is_model) {
    shot.model = model_progress();
    summary.model = model_summary(*shot.model);
  }
  shot.trouble = s_.measurer.trouble();
  s_.progress.show(shot);
  s_.measurer.report(summary);
}

StatusOr<TasksOutcome> Session::outcome() {
  TasksOutcome out;
  out.stopped_by = stopped_by_;
  out.interrupted = s_.interrupts() > 0;
  out.accounting = spent_;
  out.accounting.total = now() - start_;
  std::map<std::string, uint64_t> by_status;
  std::string first_failure;
  bool any = false;
  for (const TaskRun& t : tasks_) {
    out.tasks.push_back(t.outcome());
    SessionOutcome& o = out.tasks.back();
    o.stopped_by = stopped_by_;
    o.interrupted = out.interrupted;
    o.accounting = out.accounting;
    o.seconds_now = t.setup().seconds_now;
    any = any || o.best;
    for (const auto& [status, n] : o.by_status) by_status[status] += n;
    if (first_failure.empty()) first_failure = o.first_failure;
  }
  if (any || out.interrupted) return out;
  if (trials() == 0) return all_failed_error(fmt::format("{} ({})", kNothingMeasured, stopped_by_));
  const std::string counts = absl::StrJoin(by_status, ", ", [](std::string* out, const auto& count) {
    *out += fmt::format("{} {}", count.second, count.first);
  });
  return all_failed_error(
      fmt::format("none of {} candidates gave a time: {}; the first: {}", trials(), counts, first_failure));
}

}  // namespace

bool is_nothing_measured(const Status& s) { return message_of(s).starts_with(kNothingMeasured); }

size_t gains_window(size_t tasks) { return std::max<size_t>(256, 32 * tasks); }

// Larger batches make the model learn of results late; batches below 8 leave an agent's builders without work.
size_t batch_size(size_t asked, size_t trials) { return asked > 0 ? asked : std::clamp<size_t>(trials / 12, 8, 32); }

StatusOr<TasksOutcome> run_tasks(const std::vector<TaskSetup>& tasks, const SessionServices& services,
                                 const SessionOptions& options) {
  if (tasks.empty()) return absl::InvalidArgumentError("a session needs a task");
  return Session(tasks, services, options).run();
}

}  // namespace hone
