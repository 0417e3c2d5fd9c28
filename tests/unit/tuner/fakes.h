// A session without compiler, tracker and database: candidates of the toy space, a device that answers by formula,
// trials in memory.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "tests/fakes/fake_clock.h"
#include "tests/unit/tuner/toy_space.h"
#include "tuner/session/session.h"

namespace hone::toy {

constexpr double kFlops = 1e7;

class FakeCandidates final : public CandidateSource {
 public:
  explicit FakeCandidates(const Space& space) : space_(space) {}

  /// Configs whose index is 0 modulo this cannot be lowered; 0: all can.
  int broken_every = 0;
  /// Programs differ only modulo this many; 0: every config has its own.
  uint64_t programs = 0;
  /// Configs whose features it was reminded of.
  size_t remembered = 0;

  void remember(const Config&, const Features&) override { ++remembered; }

  const Features* features(const Config& c) override {
    if (broken(c)) return nullptr;
    features_.fill(0);
    const std::vector<float> numbers = numbers_of(space_, c);
    std::copy(numbers.begin(), numbers.end(), features_.begin());
    return &features_;
  }
  std::shared_ptr<const Candidate> prepare(const Config& c) override {
    auto out = std::make_shared<Candidate>();
    out->config = c;
    out->config_text = space_.print(c);
    const uint64_t index = static_cast<uint64_t>(space_.index_of(c));
    out->hash = {1, programs ? index % programs : index};
    if (broken(c))
      out->error = "vectorize: too wide";
    else
      out->features = *features(c);
    return out;
  }

 private:
  bool broken(const Config& c) const {
    return broken_every && space_.index_of(c) % static_cast<unsigned>(broken_every) == 0 &&
           c != space_.default_config();
  }
  const Space& space_;
  Features features_{};
};

/// Takes 10 ms of the fake clock for a candidate and answers a few at a time, the latest first.
class FakeMeasurer final : public Measurer {
 public:
  FakeMeasurer(const Space& space, FakeClock& clock, std::string session)
      : space_(space), clock_(clock), session_(std::move(session)) {}

  /// The result of a measurement; by default the toy's speed.
  std::function<wire::CandidateResult(const Candidate&)> measure = [](const Candidate&) { return timed(1.0); };
  /// For sessions of several tasks; replaces `measure`.
  std::function<wire::CandidateResult(size_t task, const Candidate&)> measure_task;
  /// Changes a result before it goes out.
  std::function<void(wire::JobResult&)> touch;
  /// collect() fails from this call on; -1: never.
  int dies_at = -1;
  size_t at_once = 5;
  std::function<void()> on_collect;

  std::vector<std::string> proposed;                ///< configs of trial jobs, in the order submitted, as `task config`
  std::vector<std::string> measured;                ///< configs, once a trial job
  std::map<size_t, std::set<bool>> cold_constants;  ///< by task: what the profiles of its jobs say
  bool tells_of_cancelled = false;                  ///< cancelled work comes back so
  std::vector<MeasureJob> several;  ///< jobs of more than one candidate, and of the last of them the first
  std::set<uint64_t> submitted, acked;
  wire::Summary last_summary;

  static wire::CandidateResult timed(double seconds) {
    wire::CandidateResult r;
    r.times = {seconds, seconds * 1.01, seconds * 0.99};
    return r;
  }
  static wire::CandidateResult failed(wire::ResultStatus status, std::string message) {
    wire::CandidateResult r;
    r.status = status;
    r.message = std::move(message);
    return r;
  }
  void use_toy_speed() {
    measure = [this](const Candidate& c) { return timed(kFlops / (speed_of(space_, c.config) * 1e9)); };
  }

  std::string session() const override { return session_; }
  void submit(std::vector<MeasureJob> jobs) override {
    for (MeasureJob& j : jobs) {
      if (!submitted.insert(j.seq).second) throw std::logic_error("a seq was used twice");
      cold_constants[j.task].insert(j.profile.cold_constants);
      if (j.candidates.size() == 1) proposed.push_back(std::to_string(j.task) + " " + j.candidates[0]->config_text);
      queue_.push_back(std::move(j));
    }
  }
  StatusOr<std::vector<wire::JobResult>> collect(std::chrono::milliseconds at_most) override {
    if (on_collect) on_collect();
    if (dies_at >= 0 && collected_++ >= dies_at) return absl::UnavailableError("killed");
    std::vector<wire::JobResult> out = std::exchange(cancelled_, {});
    const size_t n = std::min(at_once, queue_.size());
    for (size_t i = 0; i < n; ++i) {
      // The latest of the first few goes first: results come in any order.
      const size_t at = std::min(queue_.size() - 1, n - 1 - std::min(i, n - 1));
      const MeasureJob job = std::move(queue_[at]);
      queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(at));
      wire::JobResult r;
      r.seq = job.seq;
      r.device = "fake/cpu";
      r.phases.run = 0.01;
      for (const auto& c : job.candidates) {
        clock_.advance(std::chrono::milliseconds(10));
        r.candidates.push_back(measure_task ? measure_task(job.task, *c) : measure(*c));
      }
      if (job.candidates.size() == 1)
        measured.push_back(job.candidates[0]->config_text);
      else
        several.push_back(job);
      if (touch) touch(r);
      out.push_back(std::move(r));
    }
    if (n == 0) clock_.advance(at_most);
    return out;
  }
  void ack(std::vector<uint64_t> seqs) override { acked.insert(seqs.begin(), seqs.end()); }
  void cancel_all() override {
    for (const MeasureJob& job : queue_) {
      wire::JobResult r;
      r.seq = job.seq;
      r.candidates.assign(job.candidates.size(), failed(wire::ResultStatus::kCancelled, "cancelled"));
      if (tells_of_cancelled) cancelled_.push_back(std::move(r));
    }
    queue_.clear();
  }
  void report(const wire::Summary& summary) override { last_summary = summary; }
  std::string trouble() override { return ""; }
  std::optional<wire::DeviceInfo> device(const std::string& key) override {
    wire::DeviceInfo d;
    d.key = key, d.model = "Fake 9000", d.versions["llvm"] = "19.1.7", d.missing = {"landlock", "network namespace"};
    return d;
  }

 private:
  const Space& space_;
  FakeClock& clock_;
  const std::string session_;
  std::vector<MeasureJob> queue_;
  std::vector<wire::JobResult> cancelled_;
  int collected_ = 0;
};

class MemoryLog final : public TrialLog {
 public:
  std::vector<db::TrialRow> rows;
  std::vector<db::BatchRow> batches;
  std::map<std::string, std::string> states;
  bool full = false;

  StatusOr<std::vector<db::TrialRow>> load(const std::string& workload, const std::string& target,
                                           const std::string& space) override {
    std::vector<db::TrialRow> out;
    for (const db::TrialRow& r : rows)
      if (r.workload == workload && r.target == target && r.space == space) out.push_back(r);
    return out;
  }
  Status add(std::span<const db::TrialRow> trials) override {
    if (full) return absl::DataLossError("disk full");
    for (const db::TrialRow& r : trials) {
      if (Status s = db::validate(r); !s.ok()) return s;
      const bool there = std::any_of(rows.begin(), rows.end(), [&](const db::TrialRow& x) {
        return x.session == r.session && x.seq == r.seq && x.candidate == r.candidate;
      });
      if (!there) rows.push_back(r);
    }
    return absl::OkStatus();
  }
  Status add_batch(const db::BatchRow& batch) override {
    if (Status s = db::validate(batch); !s.ok()) return s;
    batches.push_back(batch);
    return absl::OkStatus();
  }
  Status begin(const db::SessionRow& s) override {
    states[s.uuid] = s.state;
    return absl::OkStatus();
  }
  Status finish(const std::string& session, int64_t, const std::string& state) override {
    states[session] = state;
    return absl::OkStatus();
  }
  size_t trials() const {
    return static_cast<size_t>(
        std::count_if(rows.begin(), rows.end(), [](const db::TrialRow& r) { return !r.confirmed; }));
  }
};

struct NoProgress final : Progress {
  Snapshot last;
  int ends = 0;
  std::function<void(const Snapshot&)> on_show;
  void show(const Snapshot& s) override {
    last = s;
    if (on_show) on_show(s);
  }
  void end() override { ++ends; }
};

/// One run of the session loop against a log that may outlive it.
struct Rig {
  const Space& space;
  MemoryLog& log;
  FakeClock clock;
  FakeCandidates candidates;
  FakeMeasurer measurer;
  NoCoreSharing cores;
  NoProgress progress;
  std::unique_ptr<CostModel> model = make_xgb_model();
  ModelRanker ranker;
  std::unique_ptr<Searcher> searcher;
  SessionOptions options;
  int interrupts = 0;

  Rig(const Space& s, MemoryLog& l, std::string session = "s1", std::string_view search = "xgb")
      : space(s),
        log(l),
        candidates(s),
        measurer(s, clock, std::move(session)),
        ranker(*model, kFeatureCount, [this](const Config& c) {
          const Features* f = candidates.features(c);
          return f ? f->data() : nullptr;
        }) {
    measurer.use_toy_speed();
    SearchOptions so;
    so.seed = 11;
    searcher = *make_searcher(search, space, &ranker, so);
    options.trials = 60;
    options.searcher = std::string(search);
  }
  StatusOr<SessionOutcome> go() {
    const std::vector<TaskSetup> tasks{{"toy(n=1)", "llvm -mcpu=fake", "", kFlops, 1, space, candidates, *searcher}};
    const SessionServices services{measurer,
                                   log,
                                   cores,
                                   progress,
                                   clock,
                                   [] { return int64_t{1'700'000'000'000}; },
                                   [this] { return interrupts; }};
    HONE_ASSIGN_OR_RETURN(TasksOutcome out, run_tasks(tasks, services, options));
    return std::move(out.tasks[0]);
  }
};

}  // namespace hone::toy
