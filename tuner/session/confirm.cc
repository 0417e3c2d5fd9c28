#include "tuner/session/confirm.h"

#include <algorithm>

#include "base/log.h"
#include "tuner/session/records.h"

namespace hone {
namespace {

using std::chrono::milliseconds;
using Candidates = std::vector<std::shared_ptr<const Candidate>>;

constexpr milliseconds kConfirmPoll{100};
constexpr double kHurriedSeconds = 2, kPatientSeconds = 60;
constexpr size_t kHurriedFinalists = 3;
constexpr double kMostOfATask = 10, kLeastOfATask = 0.1;  // seconds of repeats
// Building candidates and carrying them takes the rest.
constexpr double kShareOfRepeats = 0.5;
// Finalists are timed longer than candidates: 20 repeats of 10 ms where those have 2 ms.
constexpr double kConfirmRepeats = 20, kTimesAsLong = 5;

class Confirmation {
 public:
  Confirmation(std::vector<TaskRun>& tasks, const SessionServices& services, const SessionOptions& options,
               SessionJobs& session_jobs, SearchWorker& worker, Finalists which, double seconds,
               const std::function<void()>& show)
      : which_(which),
        seconds_(seconds),
        tasks_(tasks),
        s_(services),
        o_(options),
        session_jobs_(session_jobs),
        worker_(worker),
        show_(show),
        interrupts_(services.interrupts()),
        hurry_(interrupts_ > 0) {}

  Status run() {
    if (hurry_) worker_.drop();
    extend();
    const std::vector<size_t> order = tasks_to_confirm();
    if (order.empty()) return absl::OkStatus();
    share_ = hurry_ ? 1.0 / static_cast<double>(order.size()) : 1.0;
    whole_ = 0;
    for (const size_t t : order) whole_ += weight_of(t);
    for (const size_t t : order) worker_.prepare(t, configs_of(t));
    size_t to_prepare = order.size();
    while ((to_prepare > 0 || !jobs_.empty()) && now() < deadline_ && s_.interrupts() < 2) {
      if (s_.interrupts() > interrupts_)
        deadline_ = std::min(deadline_, now() + kHurriedSeconds), interrupts_ = s_.interrupts();
      for (;;) {
        HONE_ASSIGN_OR_RETURN(const std::unique_ptr<SearchWorker::Answer> answer, worker_.take());
        if (!answer) break;
        --to_prepare;
        start(*answer);
      }
      if (jobs_.empty()) {
        if (to_prepare > 0) worker_.wait(kConfirmPoll);
      } else {
        HONE_RETURN_IF_ERROR(session_jobs_.take(kConfirmPoll));
        HONE_RETURN_IF_ERROR(finish());
      }
      show_();
    }
    if (to_prepare == 0 && jobs_.empty()) return absl::OkStatus();
    s_.measurer.cancel_all();
    s_.progress.end();
    // Drops the configs that are left, so that a following search does not take these results for its own.
    while (which_ == Finalists::kDisturbed && to_prepare > 0 && s_.interrupts() < 2) {
      worker_.wait(kPoll);
      HONE_ASSIGN_OR_RETURN(const std::unique_ptr<SearchWorker::Answer> answer, worker_.take());
      if (answer) --to_prepare;
    }
    if (!hurry_ && !is_limited()) log::warn("the finalists could not be confirmed in time; the best stays provisional");
    return absl::OkStatus();
  }

 private:
  struct Job {
    size_t task = 0;
    uint64_t seq = 0;
    Candidates candidates;
    wire::MeasureProfile profile;
  };

  double now() const { return std::chrono::duration<double>(s_.clock.now().time_since_epoch()).count(); }
  // Whether it has its share of a command's time, which ends whatever is done by then.
  bool is_limited() const { return seconds_ > 0 && !hurry_; }
  void extend() { deadline_ = now() + (hurry_ ? kHurriedSeconds : is_limited() ? seconds_ : kPatientSeconds); }
  double weight_of(size_t t) const { return tasks_[t].setup().weight * tasks_[t].standings().best_seconds(); }

  // Finalists that earlier sessions left unconfirmed: one that was killed while confirming has nothing new to measure.
  bool unconfirmed(size_t t) const {
    const std::vector<std::string> finalists = tasks_[t].finalists(std::max<size_t>(1, o_.finalists));
    // Where the default is the fastest, nothing is gained by more certainty.
    if (is_limited() && !finalists.empty() && finalists[0] == tasks_[t].default_text()) return false;
    return std::any_of(finalists.begin(), finalists.end(), [&](const std::string& config) {
      const Standings::Known& k = *tasks_[t].standings().of_config(config);
      if (k.confirmed.seconds > 0) return false;
      // Bests that this session tried already are left out: the machine was disturbed a minute ago.
      const bool tried = k.disturbed_confirmed.job.starts_with(s_.measurer.session() + " ");
      return which_ == Finalists::kDisturbed ? k.disturbed_confirmed.seconds > 0 : !tried;
    });
  }

  // Tasks of the largest weight first: in a hurry the others may not be confirmed.
  std::vector<size_t> tasks_to_confirm() const {
    std::vector<size_t> order;
    for (size_t t = 0; t < tasks_.size(); ++t)
      if (unconfirmed(t)) order.push_back(t);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weight_of(a) > weight_of(b); });
    return order;
  }

  std::vector<Config> configs_of(size_t t) const {
    std::vector<Config> configs;
    for (const std::string& text : tasks_[t].finalists(std::max<size_t>(1, o_.finalists)))
      configs.push_back(tasks_[t].setup().space.parse(text));
    return configs;
  }

  void start(const SearchWorker::Answer& answer) {
    const Standings& known = tasks_[answer.task].standings();
    Candidates candidates;
    for (const SearchWorker::Prepared& p : answer.items)
      // A program that changed since it was measured (another version of Hone) has no known time.
      if (p.candidate->error.empty() && known.of_program(p.candidate->hash.hex())) candidates.push_back(p.candidate);
    if (candidates.empty()) return;
    // All repeats of all finalists together take a second or, for slow programs, a little more; when interrupted a
    // second at most.
    const double repeat_ms = kTimesAsLong * o_.profile.min_repeat_ms;
    const auto round_seconds = [&] {
      double seconds = 0;
      for (const auto& c : candidates) seconds += std::max(repeat_ms * 1e-3, known.of_program(c->hash.hex())->seconds);
      return seconds;
    };
    double most = hurry_ ? share_ : kMostOfATask;
    if (is_limited())
      most = std::clamp(kShareOfRepeats * seconds_ * weight_of(answer.task) / whole_, kLeastOfATask, kMostOfATask);
    // Candidates are built again first, which takes up to a tenth of a second each.
    if ((hurry_ || (is_limited() && tasks_.size() > 1)) && candidates.size() > kHurriedFinalists)
      drop_slowest(&candidates, answer.task);
    while (hurry_ && candidates.size() > 1 && 3 * round_seconds() > most) candidates.pop_back();
    wire::MeasureProfile profile = tasks_[answer.task].setup().profile_of(o_.profile);
    profile.best_seconds = 0;
    profile.min_repeat_ms = repeat_ms;
    profile.repeats = static_cast<uint32_t>(std::clamp(most / round_seconds(), 3.0, kConfirmRepeats));
    const uint64_t seq = session_jobs_.submit(answer.task, candidates, profile);
    jobs_.push_back({answer.task, seq, std::move(candidates), profile});
  }

  // Keeps the first ones, and the default, which the others are compared with.
  void drop_slowest(Candidates* candidates, size_t task) const {
    const std::string fallback = tasks_[task].default_text();
    while (candidates->size() > kHurriedFinalists) {
      const bool is_default = candidates->back()->config_text == fallback;
      candidates->erase(candidates->end() - (is_default ? 2 : 1));
    }
  }

  // A single disturbed time says little.
  void keep_beside_default(size_t task, std::vector<db::TrialRow>& rows) const {
    const std::string fallback = tasks_[task].default_text();
    const auto of_default =
        std::find_if(rows.begin(), rows.end(), [&](const db::TrialRow& r) { return r.config == fallback; });
    if (of_default == rows.end()) return;
    const std::optional<double> seconds = of_default->seconds;
    for (db::TrialRow& row : rows)
      if (row.disturbed) row.default_seconds = seconds;
  }

  // Each result extends the deadline of the others: the device is working.
  Status finish() {
    for (size_t i = 0; i < jobs_.size();) {
      const std::optional<wire::JobResult> result = session_jobs_.take_result(jobs_[i].seq);
      if (!result) {
        ++i;
        continue;
      }
      const Job job = std::move(jobs_[i]);
      jobs_.erase(jobs_.begin() + static_cast<ptrdiff_t>(i));
      std::vector<db::TrialRow> rows;
      if (result->candidates.size() == job.candidates.size())
        for (size_t c = 0; c < job.candidates.size(); ++c)
          if (result->candidates[c].status != wire::ResultStatus::kCancelled &&
              result->candidates[c].status != wire::ResultStatus::kDeviceLost)
            rows.push_back(trial_row(tasks_[job.task].setup(), s_, *job.candidates[c], *result, c, job.profile, true));
      keep_beside_default(job.task, rows);
      if (rows.empty()) {
        s_.progress.end();
        log::warn("{}: no device confirmed the finalists; the best stays provisional",
                  tasks_[job.task].setup().workload);
      }
      HONE_RETURN_IF_ERROR(session_jobs_.store(job.task, rows));
      s_.measurer.ack({job.seq});
      if (!hurry_ && !is_limited()) extend();
    }
    return absl::OkStatus();
  }

  const Finalists which_;
  const double seconds_;  ///< 0: as long as the device works
  std::vector<TaskRun>& tasks_;
  const SessionServices& s_;
  const SessionOptions& o_;
  SessionJobs& session_jobs_;
  SearchWorker& worker_;
  const std::function<void()>& show_;
  int interrupts_;
  const bool hurry_;
  double deadline_ = 0, share_ = 1, whole_ = 0;
  std::vector<Job> jobs_;  ///< at the devices
};

}  // namespace

Status confirm_finalists(Finalists which, double seconds, std::vector<TaskRun>& tasks, const SessionServices& services,
                         const SessionOptions& options, SessionJobs& session_jobs, SearchWorker& worker,
                         const std::function<void()>& show) {
  return Confirmation(tasks, services, options, session_jobs, worker, which, seconds, show).run();
}

}  // namespace hone
