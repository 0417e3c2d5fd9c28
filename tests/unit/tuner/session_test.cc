#include "tuner/session/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/exit_code.h"
#include "tests/unit/tuner/fakes.h"

namespace hone {
namespace {

using toy::FakeMeasurer;
using toy::MemoryLog;
using toy::Rig;
using wire::ResultStatus;

TEST(Session, MeasuresTheDefaultFirstAndConfirmsTheBest) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.at_once = 1;
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(run.measurer.measured.front(), space.print(space.default_config()));
  EXPECT_EQ(out->trials, 60u);
  EXPECT_EQ(log.trials(), 60u);
  EXPECT_EQ(out->stopped_by, "all trials done");
  ASSERT_TRUE(out->best && out->default_config);
  EXPECT_TRUE(out->best->confirmed);
  EXPECT_LT(out->best->seconds, out->default_config->seconds);
  ASSERT_EQ(run.measurer.several.size(), 1u) << "one job for all finalists";
  EXPECT_EQ(run.measurer.several[0].candidates.size(), 6u) << "five and the default";
  EXPECT_EQ(run.measurer.several[0].profile.repeats, 20u);
  EXPECT_EQ(run.measurer.several[0].profile.best_seconds, 0) << "no finalist is stopped early";
  EXPECT_EQ(run.measurer.acked, run.measurer.submitted);
  EXPECT_EQ(log.states["s1"], "done");
  EXPECT_EQ(log.rows.front().device_model, "Fake 9000");
  EXPECT_EQ(log.rows.front().missing, "landlock, network namespace");
  EXPECT_EQ(log.rows.front().codegen_version, "llvm-19.1.7");
}

TEST(Session, StoresBeforeItAcknowledges) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.on_collect = [&] {
    EXPECT_EQ(run.measurer.acked.size(), log.rows.size()) << "every acknowledged result is a stored row";
  };
  ASSERT_TRUE(run.go().ok());
}

TEST(Session, SameSeedAndMeasurementsGiveTheSameTrialsInWhateverOrderTheyArrive) {
  const Space space = toy::tiling_space();
  std::vector<std::string> first;
  for (size_t at_once : {1, 3, 16}) {
    MemoryLog log;
    Rig run(space, log);
    run.measurer.at_once = at_once;
    // Now the search is ahead of the devices, now they are ahead of it.
    int calls = 0;
    run.measurer.on_collect = [&] {
      if (++calls % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    };
    ASSERT_TRUE(run.go().ok());
    EXPECT_EQ(run.measurer.proposed.size(), 60u);
    if (first.empty()) first = run.measurer.proposed;
    EXPECT_EQ(run.measurer.proposed, first) << at_once << " at once";
  }
}

TEST(Session, WritesDownHowEachBatchWent) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.options.trials = 200;
  run.measurer.touch = [](wire::JobResult& r) {
    r.phases.idle = r.seq == 3 ? 0.25 : 0;
    r.drifted = r.seq == 30 || r.seq == 31;
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_GT(log.batches.size(), 5u);
  int64_t trials = 0, drifted = 0, guessed = 0;
  double idle = 0;
  for (size_t i = 0; i < log.batches.size(); ++i) {
    const db::BatchRow& b = log.batches[i];
    EXPECT_EQ(b.number, static_cast<int64_t>(i));
    EXPECT_EQ(b.workload, "toy(n=1)");
    trials += b.trials, idle += b.idle, drifted += b.drifted;
    EXPECT_GE(b.known, trials) << "at least those of this batch and the ones before";
    guessed += b.pairwise.has_value();
  }
  EXPECT_EQ(trials, 200);
  EXPECT_EQ(idle, 0.25);
  EXPECT_EQ(drifted, 2);
  EXPECT_FALSE(log.batches[0].pairwise) << "nobody knew anything yet";
  EXPECT_GT(guessed, 3);
  EXPECT_EQ(out->accounting.idle, 0.25);
  EXPECT_EQ(out->accounting.devices_seen, 1u);
  EXPECT_EQ(out->accounting.batches, log.batches.size());
  EXPECT_GT(out->accounting.drifted_batches, 0u);
  EXPECT_LE(out->accounting.drifted_batches, 2u);
  ASSERT_TRUE(out->accuracy.pairwise && out->accuracy.peak5);
  EXPECT_GT(*out->accuracy.pairwise, 0.5) << "better than a coin";
  EXPECT_TRUE(run.progress.last.tasks.at(0).model);
}

TEST(Session, SaysWhichFinalistCameSecond) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_TRUE(out->best && out->second);
  EXPECT_TRUE(out->second->confirmed);
  EXPECT_NE(out->second->config, out->best->config);
  EXPECT_GE(out->second->seconds, out->best->seconds);
}

// SIGKILL at any moment: stored trials stay, and the same command goes on from there.
TEST(Session, KilledAnywhereItResumesWithoutLossOrRepetition) {
  const Space space = toy::tiling_space();
  for (int at = 0; at < 13; ++at) {
    MemoryLog log;
    {
      Rig killed(space, log, "killed");
      killed.measurer.dies_at = at;
      ASSERT_EQ(message_of(killed.go().status()), "killed");
      EXPECT_EQ(log.trials(), killed.measurer.measured.size()) << "all that came in is stored";
    }
    const size_t before = log.trials();
    Rig again(space, log, "again");
    const auto out = again.go();
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(out->resumed, before);
    EXPECT_EQ(out->trials, 60u);
    EXPECT_EQ(log.trials(), 60u);
    EXPECT_EQ(again.measurer.measured.size(), 60 - before);
    std::set<std::string> configs;
    for (const db::TrialRow& r : log.rows)
      EXPECT_TRUE(r.confirmed || configs.insert(r.config).second) << r.config << " was measured twice";
    EXPECT_TRUE(out->best->confirmed);
  }
}

// The finalists are new, nothing else is.
TEST(Session, KilledWhileItConfirmedItConfirmsLater) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(Rig(space, log, "first").go().ok());
  const auto faster = [&](const Candidate& c) {
    return FakeMeasurer::timed(0.5 * toy::kFlops / (toy::speed_of(space, c.config) * 1e9));
  };
  {
    Rig killed(space, log, "killed");
    killed.options.trials = 100;
    killed.measurer.measure = faster;
    killed.measurer.on_collect = [&] {
      if (killed.measurer.measured.size() == 40) killed.measurer.dies_at = 0;
    };
    ASSERT_EQ(message_of(killed.go().status()), "killed");
    ASSERT_EQ(log.trials(), 100u);
  }
  Rig again(space, log, "again");
  again.options.trials = 100;
  again.measurer.measure = faster;
  const auto out = again.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(again.measurer.measured.empty());
  ASSERT_EQ(again.measurer.several.size(), 1u);
  ASSERT_TRUE(out->best);
  EXPECT_EQ(out->best->job.substr(0, 5), "again");
}

// Another day, another machine as it were: only times of one job are compared.
TEST(Session, AnEarlierBestIsConfirmedAgainBesideTheNewFinalists) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  const auto first = Rig(space, log, "first").go();
  ASSERT_TRUE(first.ok());
  Rig second(space, log, "second");
  second.options.trials = 100;
  second.measurer.measure = [&](const Candidate& c) {
    return FakeMeasurer::timed(0.5 * toy::kFlops / (toy::speed_of(space, c.config) * 1e9));
  };
  const auto out = second.go();
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(second.measurer.several.size(), 1u);
  const auto& candidates = second.measurer.several[0].candidates;
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(),
                          [&](const auto& c) { return c->config_text == first->best->config; }));
  ASSERT_TRUE(out->best && out->second && out->default_config);
  EXPECT_TRUE(side_by_side(*out->best, *out->second));
  EXPECT_TRUE(side_by_side(*out->best, *out->default_config));
}

TEST(Session, WhatIsStoredNeedNoLoweringForTheModel) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(Rig(space, log, "first").go().ok());
  Rig second(space, log, "second");
  ASSERT_TRUE(second.go().ok());
  EXPECT_EQ(second.candidates.remembered, 60u);
}

TEST(Session, WhatItCancelsItselfIsNoFailure) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log, "s1", "random");
  run.options.trials = 5000;
  run.options.devices = 40;
  run.options.batch = 320;
  run.measurer.tells_of_cancelled = true;
  run.measurer.on_collect = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // slow devices: the search is ahead of them
    if (run.measurer.submitted.size() > run.measurer.acked.size() + 400) run.interrupts = 1;
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(log.states["s1"], "interrupted");
  EXPECT_TRUE(out->best->confirmed);
  int64_t written = 0;
  for (const db::BatchRow& b : log.batches) written += b.trials;
  EXPECT_EQ(written, static_cast<int64_t>(out->trials)) << "batches that are whole now are written down";
}

TEST(Session, WhatCameInBesideTooManyCancelledJobsIsStored) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log, "s1", "random");
  run.options.trials = 5000;
  run.options.devices = 40;
  run.options.batch = 320;
  run.measurer.at_once = 1000;
  size_t cancelled = 0, before = 0, after = 0;
  run.measurer.on_collect = [&] {
    // All at once, so that the last one cancelled is followed by others.
    run.measurer.at_once = run.measurer.submitted.size() > run.measurer.acked.size() + 300 || cancelled > 0 ? 1000 : 1;
  };
  run.measurer.touch = [&](wire::JobResult& r) {
    if (run.measurer.at_once == 1) return void(++before);
    if (++cancelled <= 256)
      r.candidates[0].status = ResultStatus::kCancelled;
    else
      ++after;
  };
  const auto out = run.go();
  EXPECT_EQ(message_of(out.status()), "256 jobs in a row came back cancelled; the tracker may be shutting down");
  EXPECT_GT(after, 0u);
  EXPECT_EQ(log.trials(), before + after);
}

TEST(Session, AJobThatCameBackCancelledIsHandedOverAgain) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.touch = [](wire::JobResult& r) {
    if (r.seq == 0) r.candidates[0].status = ResultStatus::kCancelled;
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->trials, 60u);
  EXPECT_TRUE(out->default_config);
  EXPECT_EQ(run.measurer.acked, run.measurer.submitted);
}

TEST(Session, AJobThatIsAlwaysCancelledIsLeftOut) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.measure = [&](const Candidate& c) {
    if (c.config == space.default_config()) return FakeMeasurer::failed(ResultStatus::kCancelled, "");
    return FakeMeasurer::timed(toy::kFlops / (toy::speed_of(space, c.config) * 1e9));
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_FALSE(out->default_config);
  EXPECT_EQ(std::count(run.measurer.measured.begin(), run.measurer.measured.end(), space.print(space.default_config())),
            4);
}

TEST(Session, LiveLinesEndBeforeAWarning) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.touch = [](wire::JobResult& r) {
    for (wire::CandidateResult& c : r.candidates)
      if (r.candidates.size() > 1) c = FakeMeasurer::failed(ResultStatus::kDeviceLost, "");
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_FALSE(out->best->confirmed);
  EXPECT_EQ(run.progress.ends, 2) << "before the warning and at the end";
}

TEST(Session, ResumedTrialsTeachTheModel) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(Rig(space, log, "first").go().ok());
  Rig second(space, log, "second");
  second.options.trials = 70;
  ASSERT_TRUE(second.go().ok());
  EXPECT_EQ(second.ranker.rows().rows(), 70u);
}

TEST(Session, FreshDoesNotResume) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(Rig(space, log, "first").go().ok());
  Rig second(space, log, "second");
  second.options.fresh = true;
  const auto out = second.go();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->resumed, 0u);
  EXPECT_EQ(second.measurer.measured.size(), 60u);
}

TEST(Session, TrialsOfAnotherSpaceAreLeftAlone) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  ASSERT_TRUE(Rig(space, log, "first").go().ok());
  for (db::TrialRow& r : log.rows) r.space = "another fingerprint";
  Rig second(space, log, "second");
  const auto out = second.go();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->resumed, 0u);
}

TEST(Session, FailuresAreCountedStoredAndLearntFrom) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.measure = [&](const Candidate& c) {
    const double speed = toy::speed_of(space, c.config);
    if (c.config != space.default_config() && static_cast<int>(speed * 1000) % 3 == 0)
      return FakeMeasurer::failed(ResultStatus::kRunTimeout, "took longer than 10 s");
    return FakeMeasurer::timed(toy::kFlops / (speed * 1e9));
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->trials, 60u);
  EXPECT_GT(out->by_status.at("run_timeout"), 0u);
  EXPECT_EQ(out->by_status.at("run_timeout") + out->by_status.at("ok"), 60u);
  EXPECT_EQ(run.progress.last.failures.at("run_timeout"), out->by_status.at("run_timeout"));
  EXPECT_EQ(run.ranker.rows().rows(), 60u);
  EXPECT_EQ(out->best->confirmed, true);
}

TEST(Session, ResultsWithoutATimeAreFailures) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.options.trials = 9;
  run.measurer.measure = [](const Candidate&) {
    wire::CandidateResult r;
    r.times = {0, -1, std::nan("")};
    return r;
  };
  EXPECT_EQ(exit_code_of(run.go().status()), kExitAllFailed);
  EXPECT_EQ(log.rows[0].status, "run_failed");
}

TEST(Session, CandidatesThatCannotBeLoweredAreFailedTrials) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log, "s1", "random");
  run.candidates.broken_every = 3;
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->trials, 60u);
  EXPECT_GT(out->by_status.at("invalid_config"), 5u);
  EXPECT_EQ(out->by_status.at("ok"), run.measurer.measured.size());
}

TEST(Session, EqualProgramsAreMeasuredOnce) {
  const Space space = toy::small_space(200);
  MemoryLog log;
  Rig run(space, log, "s1", "random");
  run.measurer.measure = [](const Candidate& c) {
    return FakeMeasurer::timed(1e-3 * static_cast<double>(1 + c.hash.low));
  };
  run.candidates.programs = 10;
  run.options.trials = 100;
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(run.measurer.measured.size(), 10u);
  EXPECT_EQ(out->trials, 10u);
  EXPECT_EQ(out->shared, 190u);
  EXPECT_EQ(out->stopped_by, "space exhausted");
}

// Both parts of the time, in which a disturbed device would otherwise confirm for minutes.
TEST(Session, ConfirmationOverrulesALuckyTrial) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  std::string lucky;
  run.measurer.measure = [&](const Candidate& c) {
    const double honest = toy::kFlops / (toy::speed_of(space, c.config) * 1e9);
    if (c.config_text == lucky) return FakeMeasurer::timed(2 * honest);  // measured again: the truth
    if (!lucky.empty() || c.config == space.default_config()) return FakeMeasurer::timed(honest);
    lucky = c.config_text;
    return FakeMeasurer::timed(1e-6);
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_NE(out->best->config, lucky);
  EXPECT_TRUE(out->best->confirmed);
}

TEST(Session, CensoredTimesAreNeverTheBest) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.measure = [&](const Candidate& c) {
    wire::CandidateResult r = FakeMeasurer::timed(c.config == space.default_config() ? 1e-3 : 1e-4);
    r.censored = c.config != space.default_config();
    return r;
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->best->config, space.print(space.default_config()));
}

TEST(Session, LostDevicesSayNothingAboutTheConfig) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.measure = [&](const Candidate& c) {
    if (c.hash.low % 2 == 0 && c.config != space.default_config())
      return FakeMeasurer::failed(ResultStatus::kDeviceLost, "3 attempts");
    return FakeMeasurer::timed(toy::kFlops / (toy::speed_of(space, c.config) * 1e9));
  };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_GT(out->by_status.at("device_lost"), 0u);
  EXPECT_EQ(run.ranker.rows().rows(), out->by_status.at("ok"));
}

TEST(Session, TellsTheFleetHowItDoes) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  ASSERT_TRUE(run.go().ok());
  EXPECT_EQ(run.measurer.last_summary.trials, 60u);
  EXPECT_GT(run.measurer.last_summary.best_gflops, 0);
  EXPECT_FALSE(run.measurer.last_summary.best_config.empty());
  EXPECT_EQ(run.measurer.last_summary.best_config_name, "tuned");
}

TEST(Session, SaysWhatIsLeftWhenTheRateIsKnown) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  size_t first = 0;
  run.progress.on_show = [&](const Snapshot& s) {
    if (s.phase.empty() && s.seconds_left >= 0 && first == 0) first = s.trials;
  };
  ASSERT_TRUE(run.go().ok());
  EXPECT_GE(first, 16u) << "the first trials say little";
  EXPECT_LT(first, 60u) << "but it is said before all are done";
}

TEST(Session, BatchesFollowTheNumberOfTrials) {
  EXPECT_EQ(batch_size(0, 10), 8u);
  EXPECT_EQ(batch_size(0, 200), 16u);
  EXPECT_EQ(batch_size(0, 100'000), 32u);
  EXPECT_EQ(batch_size(5, 1000), 5u);
}

TEST(Session, MoreDevicesHaveMoreInFlight) {
  const Space space = toy::tiling_space();
  const auto most_in_flight = [&](size_t devices) {
    MemoryLog log;
    Rig run(space, log, "s1", "random");
    run.options.trials = 400;
    run.options.devices = devices;
    size_t most = 0;
    run.measurer.on_collect = [&] {
      most = std::max(most, run.measurer.submitted.size() - run.measurer.acked.size());
      // The search is in time: the jobs in flight do not depend on who is faster.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    };
    EXPECT_TRUE(run.go().ok());
    return most;
  };
  EXPECT_LE(most_in_flight(1), 64u);
  EXPECT_GE(most_in_flight(8), 100u);
}

}  // namespace
}  // namespace hone
