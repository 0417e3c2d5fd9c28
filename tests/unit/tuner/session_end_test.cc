// How a session ends: with its trials, its time, its gain or its space, by Ctrl-C, by errors.
#include "tuner/session/session.h"

#include <gtest/gtest.h>

#include "base/exit_code.h"
#include "tests/unit/tuner/fakes.h"

namespace hone {
namespace {

using toy::FakeMeasurer;
using toy::MemoryLog;
using toy::Rig;
using wire::ResultStatus;

TEST(Session, ASearcherThatFailsEndsTheSessionWithItsMessage) {
  struct Failing final : Searcher {
    std::vector<Proposal> propose(size_t) override { throw std::runtime_error("index out of range"); }
    void report(const std::vector<Observation>&) override {}
  };
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.searcher = std::make_unique<Failing>();
  EXPECT_EQ(message_of(run.go().status()), "the search failed: index out of range");
  EXPECT_EQ(log.states["s1"], "failed");
}

TEST(Session, NothingLeftToMeasureReportsWhatIsKnown) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  const auto first = Rig(space, log, "first").go();
  ASSERT_TRUE(first.ok());
  Rig second(space, log, "second");
  const auto out = second.go();
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(second.measurer.submitted.empty());
  EXPECT_EQ(out->best->config, first->best->config);
  EXPECT_TRUE(out->best->confirmed);
}

TEST(Session, AllFailedSaysHowAndWhy) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.options.trials = 20;
  run.measurer.measure = [](const Candidate&) {
    return FakeMeasurer::failed(ResultStatus::kWrongResult, "element 17 is 3, not 4");
  };
  const auto out = run.go();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(exit_code_of(out.status()), kExitAllFailed);
  EXPECT_EQ(message_of(out.status()),
            "none of 20 candidates gave a time: 20 wrong_result; the first: wrong_result: element 17 is 3, not 4");
  EXPECT_EQ(log.trials(), 20u);
}

TEST(Session, ASpaceOfOneConfigIsMeasuredAndConfirmed) {
  const Space space = toy::small_space(1);
  MemoryLog log;
  Rig run(space, log);
  run.measurer.measure = [](const Candidate&) { return FakeMeasurer::timed(1e-3); };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->trials, 1u);
  EXPECT_EQ(out->stopped_by, "space exhausted");
}

TEST(Session, InterruptedOnceItKeepsAndConfirms) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  int calls = 0;
  run.measurer.on_collect = [&] { run.interrupts = ++calls >= 4 ? 1 : 0; };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(out->interrupted);
  EXPECT_GT(out->trials, 0u);
  EXPECT_LT(out->trials, 60u);
  EXPECT_TRUE(out->best->confirmed);
  EXPECT_EQ(log.trials(), out->trials);
  EXPECT_EQ(log.states["s1"], "interrupted");
}

TEST(Session, InterruptedTwiceItLeavesAtOnce) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  int calls = 0;
  run.measurer.on_collect = [&] { run.interrupts = ++calls >= 4 ? 2 : 0; };
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(out->interrupted);
  EXPECT_TRUE(run.measurer.several.empty());
  EXPECT_FALSE(out->best->confirmed);
}

TEST(Session, StopsWhenTheTimeIsUp) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.options.trials = 10'000;
  run.options.seconds = 0.5;  // 10 ms a trial
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->stopped_by, "time is up");
  EXPECT_GE(out->trials, 50u);
  EXPECT_LE(out->trials, 60u);
}

TEST(Session, TellsThatItEndedBeforeAnythingWasMeasuredFromFailures) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig late(space, log);
  late.options.seconds = 0.5;
  late.progress.on_show = [&](const Snapshot&) { late.clock.advance(std::chrono::seconds(1)); };
  const auto out = late.go();
  EXPECT_EQ(message_of(out.status()), "no candidate was measured (time is up)");
  EXPECT_TRUE(is_nothing_measured(out.status()));
  Rig bad(space, log);
  bad.measurer.measure = [&](const Candidate&) { return FakeMeasurer::failed(ResultStatus::kRejected, "bad"); };
  const auto failed = bad.go();
  EXPECT_FALSE(failed.ok());
  EXPECT_FALSE(is_nothing_measured(failed.status()));
  EXPECT_FALSE(is_nothing_measured(absl::OkStatus()));
}

TEST(Session, ConfirmsNoLongerThanItMay) {
  const Space space = toy::tiling_space();
  for (const double seconds_of_a_job : {0.01, 5.0}) {
    MemoryLog log;
    Rig run(space, log);
    run.options.trials = 10'000;
    run.options.seconds = 0.5;
    run.options.confirm_seconds = 1;
    run.options.after_seconds = 7;
    bool confirms = false;
    run.measurer.on_collect = [&] {
      confirms = confirms || run.measurer.submitted.size() > run.measurer.proposed.size();
      if (confirms) run.clock.advance(std::chrono::milliseconds(static_cast<int>(1000 * seconds_of_a_job)));
    };
    const auto start = run.clock.now();
    const auto out = run.go();
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(out->stopped_by, "time is up");
    EXPECT_TRUE(out->best);
    EXPECT_TRUE(out->best->confirmed || seconds_of_a_job > 1);
    // The time left is that until all ends.
    EXPECT_GE(run.progress.last.seconds_left, 7);
    EXPECT_LE(run.progress.last.seconds_left, 8.5);
    // One look at the device may be under way when the time is up.
    EXPECT_LE(std::chrono::duration<double>(run.clock.now() - start).count(), 1.5 + 0.2 + seconds_of_a_job);
  }
}

TEST(Session, StopsWithoutGain) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  Rig run(space, log);
  run.measurer.measure = [](const Candidate&) { return FakeMeasurer::timed(1e-3); };
  run.options.trials = 1000;
  run.options.stop_after = 20;
  const auto out = run.go();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->stopped_by, "no gain in 20 trials");
  EXPECT_LT(out->trials, 40u);
}

TEST(Session, ADatabaseThatCannotBeWrittenEndsTheSession) {
  const Space space = toy::tiling_space();
  MemoryLog log;
  log.full = true;
  Rig run(space, log);
  EXPECT_EQ(message_of(run.go().status()), "disk full");
  EXPECT_TRUE(run.measurer.acked.empty());
  EXPECT_EQ(log.states["s1"], "failed");
}

}  // namespace
}  // namespace hone
