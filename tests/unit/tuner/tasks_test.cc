// Sessions of several tasks.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "base/exit_code.h"
#include "tests/unit/tuner/fakes.h"

namespace hone {
namespace {

using toy::FakeMeasurer;
using toy::MemoryLog;

// Tasks of the toy space: each with a size of its own, a searcher and a model.
struct Several {
  struct One {
    std::string workload;
    double flops = toy::kFlops, weight = 1;
    const Space& space;
    toy::FakeCandidates candidates;
    std::unique_ptr<CostModel> model = make_xgb_model();
    ModelRanker ranker;
    std::unique_ptr<Searcher> searcher;

    One(std::string name, double work, double share, const Space& s, std::string_view search)
        : workload(std::move(name)),
          flops(work),
          weight(share),
          space(s),
          candidates(s),
          ranker(*model, kFeatureCount, [this](const Config& c) {
            const Features* f = candidates.features(c);
            return f ? f->data() : nullptr;
          }) {
      SearchOptions options;
      options.seed = 11;
      searcher = *make_searcher(search, space, &ranker, options);
    }
  };

  MemoryLog& log;
  FakeClock clock;
  std::deque<One> tasks;
  FakeMeasurer measurer;
  NoCoreSharing cores;
  toy::NoProgress progress;
  SessionOptions options;
  int interrupts = 0;
  std::vector<double> seconds_now;  ///< by task; empty: not known

  Several(const Space& space, MemoryLog& l, std::string session = "s1")
      : log(l), measurer(space, clock, std::move(session)) {
    options.trials = 200;
    measurer.measure_task = [this](size_t t, const Candidate& c) {
      return FakeMeasurer::timed(tasks[t].flops / (toy::speed_of(tasks[t].space, c.config) * 1e9));
    };
  }
  void add(const std::string& workload, double flops, double weight, const Space& space,
           std::string_view search = "xgb") {
    tasks.emplace_back(workload, flops, weight, space, search);
  }
  StatusOr<TasksOutcome> go() {
    std::vector<TaskSetup> setups;
    for (One& t : tasks)
      setups.push_back({t.workload, "llvm -mcpu=fake", "", t.flops, t.weight, t.space, t.candidates, *t.searcher,
                        t.workload.starts_with("step"),
                        setups.size() < seconds_now.size() ? seconds_now[setups.size()] : 0});
    return run_tasks(setups,
                     {measurer, log, cores, progress, clock, [] { return int64_t{1'700'000'000'000}; },
                      [this] { return interrupts; }},
                     options);
  }
  std::vector<size_t> trials_of(const TasksOutcome& out) const {
    std::vector<size_t> n;
    for (const SessionOutcome& o : out.tasks) n.push_back(o.trials);
    return n;
  }
};

struct Three : Several {
  Three(const Space& space, MemoryLog& l, std::string session = "s1") : Several(space, l, std::move(session)) {
    add("big(n=1)", 1e8, 1, space);
    add("small(n=1)", 1e6, 1, space);
    add("medium(n=1)", 2e7, 1, space);
  }
};

TEST(Tasks, ShareOneBudgetByWhatTheyBring) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  const std::vector<size_t> n = s.trials_of(*out);
  EXPECT_EQ(n[0] + n[1] + n[2], 200u);
  EXPECT_EQ(log.trials(), 200u);
  EXPECT_GT(n[0], 2 * n[2]);
  EXPECT_GE(n[2], n[1]);
  EXPECT_GE(n[1], 8u) << "everyone has a first batch";
  EXPECT_EQ(out->stopped_by, "all trials done");
  EXPECT_EQ(log.states["s1"], "done");
}

// The model's time as it is now stands for tasks without a trial, so that it is whole from the start, and only falls.
TEST(Tasks, OfATimedModelAreWholeFromTheStart) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  s.options.is_model = true;
  s.options.trials = 10'000;
  s.options.seconds = 1;
  s.seconds_now = {0.1, 0.000001, 0.02};
  std::vector<double> shown;
  s.progress.on_show = [&](const Snapshot& shot) {
    EXPECT_EQ(shot.model->missing, 0u);
    shown.push_back(shot.model->seconds);
  };
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_GT(shown.size(), 2u);
  EXPECT_NEAR(shown.front(), 0.120001, 1e-9);
  EXPECT_TRUE(std::is_sorted(shown.rbegin(), shown.rend()));
  EXPECT_EQ(s.trials_of(*out)[1], 0u) << "next to nothing of the model";
}

TEST(Tasks, WeightsCount) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Several s(space, log);
  s.add("a(n=1)", 1e7, 1, space);
  s.add("b(n=1)", 1e7, 20, space);
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_GT(out->tasks[1].trials, 3 * out->tasks[0].trials);
}

// Steps of a recurrent layer read the same weights again: trials and finalists are measured so.
TEST(Tasks, ConstantsAreColdButForThoseThatAreReadAgain) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Several s(space, log);
  s.add("layer(n=1)", 1e7, 1, space);
  s.add("step(n=1)", 1e7, 100, space);
  s.options.trials = 60;
  s.options.profile.cold_constants = true;
  ASSERT_TRUE(s.go().ok());
  EXPECT_EQ(s.measurer.cold_constants[0], std::set<bool>{true});
  EXPECT_EQ(s.measurer.cold_constants[1], std::set<bool>{false});
}

TEST(Tasks, AModelsSearchEndsWithItsGains) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  s.options.trials = 100'000;
  s.options.is_model = true;
  // Time passes, or the course of the total would have no points.
  s.measurer.measure_task = [&](size_t t, const Candidate& c) {
    s.clock.advance(std::chrono::milliseconds(150));
    return FakeMeasurer::timed(s.tasks[t].flops / (toy::speed_of(s.tasks[t].space, c.config) * 1e9));
  };
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->stopped_by, "the latest 256 trials gained less than 0.5% of the model");
  size_t all = 0;
  for (const size_t n : s.trials_of(*out)) all += n;
  EXPECT_GE(all, gains_window(3));
  for (const SessionOutcome& o : out->tasks) EXPECT_TRUE(o.best && o.best->confirmed);
}

TEST(Tasks, AModelsSessionTellsTheTrackerWhatARunTakes) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Several s(space, log);
  s.add("small(n=1)", 1e6, 1, space);
  s.add("big(n=1)", 1e8, 2, space);
  s.options.is_model = true;
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  const auto& model = s.measurer.last_summary.model;
  ASSERT_TRUE(model);
  EXPECT_EQ(model->tasks, 2u);
  EXPECT_EQ(model->missing, 0u);
  ASSERT_EQ(model->slowest.size(), 2u);
  EXPECT_EQ(model->slowest[0].workload, "big(n=1)") << "what takes most of a run comes first";
  EXPECT_EQ(model->slowest[0].count, 2);
  EXPECT_EQ(model->slowest[0].trials, out->tasks[1].trials);
  double seconds = 0, default_seconds = 0;
  for (const wire::TaskSummary& task : model->slowest) {
    EXPECT_LE(task.seconds, task.default_seconds);
    seconds += task.count * task.seconds;
    default_seconds += task.count * task.default_seconds;
  }
  EXPECT_DOUBLE_EQ(model->seconds, seconds);
  EXPECT_DOUBLE_EQ(model->default_seconds, default_seconds);
  EXPECT_EQ(model->slowest[0].config_name, "tuned");
}

TEST(Tasks, ThoseOfNoModelTellNoRun) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  ASSERT_TRUE(s.go().ok());
  EXPECT_FALSE(s.measurer.last_summary.model);
}

TEST(Tasks, AModelWithMissingTimesHasNoTimeOfARun) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Several s(space, log);
  s.add("good(n=1)", 1e6, 1, space);
  s.add("bad(n=1)", 1e6, 1, space);
  s.options.is_model = true;
  s.measurer.measure_task = [&](size_t t, const Candidate& c) {
    if (t == 1) return FakeMeasurer::failed(wire::ResultStatus::kRunFailed, "it crashed");
    return FakeMeasurer::timed(s.tasks[t].flops / (toy::speed_of(s.tasks[t].space, c.config) * 1e9));
  };
  ASSERT_TRUE(s.go().ok());
  const auto& model = s.measurer.last_summary.model;
  ASSERT_TRUE(model);
  EXPECT_EQ(model->missing, 1u);
  EXPECT_EQ(model->seconds, 0);
  EXPECT_EQ(model->default_seconds, 0);
  ASSERT_EQ(model->slowest.size(), 1u);
  EXPECT_EQ(model->slowest[0].workload, "good(n=1)");
  EXPECT_DOUBLE_EQ(model->measured_seconds, model->slowest[0].seconds) << "what is measured is told from the first on";
  EXPECT_DOUBLE_EQ(model->measured_default_seconds, model->slowest[0].default_seconds);
}

TEST(Tasks, ManyTasksWaitLongerForGains) {
  EXPECT_EQ(gains_window(1), 256u);
  EXPECT_EQ(gains_window(30), 960u);
}

TEST(Tasks, EachHasItsDefaultFirstAndItsFinalistsConfirmed) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  std::set<std::string> met;
  for (const std::string& p : s.measurer.proposed)
    if (met.insert(p.substr(0, 1)).second) {
      EXPECT_EQ(p.substr(2), space.print(space.default_config()));
    }
  ASSERT_EQ(s.measurer.several.size(), 3u);
  for (const SessionOutcome& o : out->tasks) {
    ASSERT_TRUE(o.best && o.default_config && o.second);
    EXPECT_TRUE(o.best->confirmed);
    EXPECT_TRUE(o.default_config->confirmed);
    EXPECT_LT(o.best->seconds, o.default_config->seconds);
  }
  EXPECT_EQ(s.measurer.acked, s.measurer.submitted);
}

TEST(Tasks, StartInTurn) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  ASSERT_TRUE(s.go().ok());
  std::vector<char> first;
  for (const std::string& p : s.measurer.proposed)
    if (first.empty() || first.back() != p[0]) first.push_back(p[0]);
  first.resize(3);
  EXPECT_EQ(first, (std::vector<char>{'0', '1', '2'}));
}

TEST(Tasks, SameSeedAndMeasurementsGiveTheSameTrialsInWhateverOrderTheyArrive) {
  const Space space = toy::tiling_space();
  std::vector<std::string> first;
  for (size_t at_once : {1, 4, 32}) {
    MemoryLog log;
    Three s(space, log);
    s.measurer.at_once = at_once;
    ASSERT_TRUE(s.go().ok());
    if (first.empty()) first = s.measurer.proposed;
    EXPECT_EQ(s.measurer.proposed, first) << at_once << " at once";
  }
}

TEST(Tasks, KilledAnywhereTheyResumeWithoutLossOrRepetition) {
  const Space space = toy::tiling_space();
  for (int at = 0; at < 45; at += 4) {
    MemoryLog log;
    {
      Three killed(space, log, "killed");
      killed.measurer.dies_at = at;
      ASSERT_EQ(message_of(killed.go().status()), "killed");
    }
    const size_t before = log.trials();
    Three again(space, log, "again");
    const auto out = again.go();
    ASSERT_TRUE(out.ok()) << out.status();
    size_t resumed = 0;
    for (const SessionOutcome& o : out->tasks) resumed += o.resumed;
    EXPECT_EQ(resumed, before);
    EXPECT_EQ(log.trials(), 200u);
    std::set<std::string> configs;
    for (const db::TrialRow& r : log.rows)
      EXPECT_TRUE(r.confirmed || configs.insert(r.workload + r.config).second)
          << r.workload << r.config << " was measured twice";
  }
}

TEST(Tasks, NothingLeftToMeasureReportsWhatIsKnown) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(Three(space, log, "first").go().ok());
  Three second(space, log, "second");
  const auto out = second.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(second.measurer.submitted.empty());
  for (const SessionOutcome& o : out->tasks) EXPECT_TRUE(o.best && o.best->confirmed);
}

TEST(Tasks, FewTrialsGoRound) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  s.options.trials = 7;
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  const std::vector<size_t> n = s.trials_of(*out);
  EXPECT_EQ(std::accumulate(n.begin(), n.end(), size_t{0}), 7u);
  for (const size_t each : n) EXPECT_GE(each, 2u);
}

TEST(Tasks, AnExhaustedSpaceLeavesItsTrialsToTheOthers) {
  const Space space = toy::tiling_space(), tiny = toy::small_space(6);
  MemoryLog log;
  Several s(space, log);
  s.add("tiny(n=1)", 1e9, 100, tiny, "random");
  s.add("other(n=1)", 1e6, 1, space);
  s.measurer.measure_task = [&](size_t t, const Candidate& c) {
    return FakeMeasurer::timed(t == 0 ? 1.0 : 1e6 / (toy::speed_of(space, c.config) * 1e9));
  };
  s.options.trials = 100;
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(s.trials_of(*out), (std::vector<size_t>{6, 94}));
}

TEST(Tasks, EachIsLeftWhenItBringsNoGain) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Several s(space, log);
  s.add("flat(n=1)", 1e9, 1, space, "random");
  s.add("slope(n=1)", 1e6, 1, space, "random");
  int calls = 0;
  s.measurer.measure_task = [&](size_t t, const Candidate&) {
    return FakeMeasurer::timed(t == 0 ? 1e-2 : 1e-3 / ++calls);
  };
  s.options.trials = 400;
  s.options.stop_after = 20;
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_LT(out->tasks[0].trials, 70u);
  EXPECT_GT(out->tasks[1].trials, 300u) << "that one never stopped getting better";
}

TEST(Tasks, StopWhenNoneBringsGain) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  s.measurer.measure_task = [](size_t, const Candidate&) { return FakeMeasurer::timed(1e-3); };
  s.options.trials = 1000;
  s.options.stop_after = 20;
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->stopped_by, "no gain in 20 trials");
  EXPECT_LT(log.trials(), 250u);
}

TEST(Tasks, OneThatFailsDoesNotFailTheOthers) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  s.measurer.measure_task = [&](size_t t, const Candidate& c) {
    if (t == 1) return FakeMeasurer::failed(wire::ResultStatus::kBuildFailed, "no such instruction");
    return FakeMeasurer::timed(s.tasks[t].flops / (toy::speed_of(space, c.config) * 1e9));
  };
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(out->tasks[0].best && out->tasks[2].best);
  EXPECT_FALSE(out->tasks[1].best);
  EXPECT_EQ(out->tasks[1].first_failure, "build_failed: no such instruction");
  EXPECT_LT(out->tasks[1].trials, 120u) << "it does not eat up the budget";
}

TEST(Tasks, AllFailedSaysHowAndWhy) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  s.options.trials = 24;
  s.measurer.measure_task = [](size_t, const Candidate&) {
    return FakeMeasurer::failed(wire::ResultStatus::kRejected, "bad");
  };
  const auto out = s.go();
  EXPECT_EQ(exit_code_of(out.status()), kExitAllFailed);
  EXPECT_EQ(message_of(out.status()), "none of 24 candidates gave a time: 24 rejected; the first: rejected: bad");
}

TEST(Tasks, InterruptedOnceTheyKeepAndConfirm) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  int calls = 0;
  s.measurer.on_collect = [&] { s.interrupts = ++calls >= 12 ? 1 : 0; };
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(out->interrupted);
  EXPECT_LT(log.trials(), 200u);
  EXPECT_TRUE(out->tasks[0].best->confirmed);
  EXPECT_EQ(log.states["s1"], "interrupted");
}

TEST(Tasks, ShowTheWholeAndEachTask) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Three s(space, log);
  const auto out = s.go();
  ASSERT_TRUE(out.ok()) << out.status();
  const Snapshot& last = s.progress.last;
  ASSERT_EQ(last.tasks.size(), 3u);
  double whole = 0;
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(last.tasks[t].label, s.tasks[t].workload);
    EXPECT_EQ(last.tasks[t].trials, out->tasks[t].trials);
    EXPECT_GT(last.tasks[t].gain, 1);
    whole += s.tasks[t].flops / (last.tasks[t].best_gflops * 1e9);
  }
  EXPECT_NEAR(last.best_seconds, whole, 1e-9);
  EXPECT_GT(last.default_seconds, last.best_seconds);
  EXPECT_EQ(s.measurer.last_summary.trials, 200u);
}

}  // namespace
}  // namespace hone
