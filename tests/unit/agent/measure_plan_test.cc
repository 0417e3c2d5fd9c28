#include "rpc/agent/run/measure_plan.h"

#include <gmock/gmock.h>

namespace hone::agent {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

using Kind = MeasurePlan::Kind;
using Taken = MeasurePlan::Taken;

// Answers the repeats of a plan one after the other with `repeats`, the last one for ever; returns how often it wanted
// to wait.
int answer(MeasurePlan& plan, const std::vector<Taken>& repeats) {
  int waits = 0;
  size_t next = 0;
  while (const auto step = plan.next(1000)) {
    waits += step->kind == Kind::kWait;
    if (step->kind == Kind::kWarmup) plan.took({1e-3});
    if (step->kind == Kind::kRepeat) plan.took(repeats[std::min(next++, repeats.size() - 1)]);
  }
  return waits;
}

// Runs the plan of a kernel that always takes `seconds`; returns how many warm-ups it got.
int play(MeasurePlan& plan, double seconds, double left = 1000) {
  int warmups = 0;
  while (const auto step = plan.next(left)) {
    warmups += step->kind == Kind::kWarmup;
    plan.took({seconds});
    left -= std::max(seconds, step->min_seconds);
  }
  return warmups;
}

TEST(MeasurePlan, ScreensWithWarmupAndRepeats) {
  MeasurePlan plan({}, 1e-3, false);
  EXPECT_EQ(play(plan, 1e-3), 1);
  EXPECT_EQ(plan.times().size(), 3u);
  EXPECT_FALSE(plan.censored());
}

TEST(MeasurePlan, MeasuresAgainWhatIsNearTheBest) {
  MeasurePlan near({.best_seconds = 1e-3}, 1e-3, false), far({.best_seconds = 1e-3}, 1e-3, false);
  play(near, 1.005e-3);
  EXPECT_EQ(near.times().size(), 13u);
  play(far, 1.5e-3);
  EXPECT_EQ(far.times().size(), 3u);
}

TEST(MeasurePlan, StopsTheClearlySlowerOneAfterItsFirstRepeat) {
  MeasurePlan plan({.best_seconds = 1e-3}, 3.5e-3, false);
  EXPECT_EQ(play(plan, 3.5e-3), 1);
  EXPECT_EQ(plan.times().size(), 1u);
  EXPECT_TRUE(plan.censored());
}

TEST(MeasurePlan, AsksTwiceBeforeItStopsWhatMayBeAnAccident) {
  MeasurePlan accident({.best_seconds = 1e-3}, 1e-3, false), slow({.best_seconds = 1e-3}, 1e-3, false),
      hopeless({.best_seconds = 1e-3}, 1e-3, false);
  answer(accident, {{4e-3}, {2e-3}});
  EXPECT_FALSE(accident.censored());
  EXPECT_THAT(accident.times(), ElementsAre(2e-3, 2e-3, 2e-3));
  answer(slow, {{4e-3}, {3.5e-3}, {1e-3}});
  EXPECT_TRUE(slow.censored());
  EXPECT_THAT(slow.times(), ElementsAre(3.5e-3));
  answer(hopeless, {{9.5e-3}, {1e-3}});
  EXPECT_TRUE(hopeless.censored());
}

TEST(MeasurePlan, GivesNoWarmupToTheHopelesslySlow) {
  MeasurePlan plan({.best_seconds = 1e-3}, 0.9, false);
  EXPECT_EQ(play(plan, 0.9), 0);
  EXPECT_TRUE(plan.censored());
}

TEST(MeasurePlan, CensorsNothingWithoutABest) {
  MeasurePlan plan({}, 2, false);
  play(plan, 2);
  EXPECT_FALSE(plan.censored());
  EXPECT_EQ(plan.times().size(), 3u);
}

TEST(MeasurePlan, InterleavedOnesGetTheirRepeatsAndNoMore) {
  MeasurePlan plan({.repeats = 20, .best_seconds = 1e-3}, 9e-3, true);
  play(plan, 9e-3);
  EXPECT_EQ(plan.times().size(), 20u);
  EXPECT_FALSE(plan.censored());
}

TEST(MeasurePlan, LeavesOutWhatTheDeadlineHasNoTimeFor) {
  MeasurePlan plan({}, 3, false);
  EXPECT_EQ(play(plan, 3, 7), 1);
  EXPECT_EQ(plan.times().size(), 1u);
}

TEST(MeasurePlan, StopsRefiningWhatIsSurelySlowerThanTheBest) {
  MeasurePlan slower({.best_seconds = 1e-3}, 1e-3, false), once({.best_seconds = 1e-3}, 1e-3, false),
      half({.best_seconds = 1e-3}, 1e-3, false);
  MeasurePlan clearly({.best_seconds = 1e-3}, 1e-3, false);
  play(clearly, 1.05e-3);
  EXPECT_THAT(clearly.times(), SizeIs(4));
  play(slower, 1.03e-3);
  EXPECT_THAT(slower.times(), SizeIs(5));
  answer(once, {{1.05e-3}, {1.05e-3}, {1.005e-3}, {1.05e-3}});
  EXPECT_THAT(once.times(), SizeIs(8));
  const Taken fast{0.99e-3}, slow{1.05e-3};
  answer(half, {fast, slow, fast, slow, fast, slow, fast, slow, fast, slow, fast});
  EXPECT_THAT(half.times(), SizeIs(13));
}

TEST(MeasurePlan, MeasuresAgainWhatDisagreesWithItself) {
  MeasurePlan one_slow({}, 1e-3, false), two_slow({}, 1e-3, false), never_agrees({}, 1e-3, false);
  answer(one_slow, {{1e-3}, {2e-3}, {1e-3}});
  EXPECT_THAT(one_slow.times(), ElementsAre(1e-3, 2e-3, 1e-3));
  answer(two_slow, {{2e-3}, {1e-3}, {2e-3}, {1e-3}});
  EXPECT_THAT(two_slow.times(), ElementsAre(2e-3, 1e-3, 2e-3, 1e-3, 1e-3));
  answer(never_agrees, {{1e-3}, {2e-3}});
  EXPECT_THAT(never_agrees.times(), SizeIs(7));
}

TEST(MeasurePlan, TakesDisturbedRepeatsAgain) {
  MeasurePlan plan({}, 1e-3, false);
  answer(plan, {{5e-3, true}, {1.01e-3}, {4e-3, true}, {1.02e-3}, {1.03e-3}});
  EXPECT_THAT(plan.times(), ElementsAre(1.01e-3, 1.02e-3, 1.03e-3));
  EXPECT_EQ(plan.disturbed(), 2u);
  EXPECT_FALSE(plan.drifted());
}

TEST(MeasurePlan, TakesDisturbedRepeatsAgainInTurn) {
  MeasurePlan plan({.repeats = 20}, 1e-3, true);
  answer(plan, {{1e-3}, {9e-3, true}, {9e-3, true}, {1e-3}});
  EXPECT_THAT(plan.times(), SizeIs(20));
  EXPECT_THAT(plan.times(), Each(1e-3));
  EXPECT_FALSE(plan.drifted());
}

TEST(MeasurePlan, WaitsAfterThreeDisturbedRepeatsInARow) {
  const Taken bad{2e-3, true};
  MeasurePlan scattered({}, 1e-3, false), in_a_row({}, 1e-3, false);
  EXPECT_EQ(answer(scattered, {bad, bad, {1e-3}, bad, bad, {1e-3}}), 0);
  EXPECT_EQ(answer(in_a_row, {bad, bad, bad, {1e-3}}), 1);
  EXPECT_THAT(in_a_row.times(), SizeIs(3));
}

TEST(MeasurePlan, GivesUpWhereItIsNeverQuiet) {
  MeasurePlan plan({}, 1e-3, false);
  EXPECT_EQ(answer(plan, {{3e-3, true}, {2e-3, true}, {1e-3}, {4e-3, true}}), 3);
  EXPECT_TRUE(plan.drifted());
  EXPECT_EQ(plan.disturbed(), 12u);
  EXPECT_THAT(plan.times(), ElementsAre(1e-3, 2e-3, 3e-3));  // the good one, then the fastest
}

TEST(MeasurePlan, GivesUpSoonOnLongCalls) {
  MeasurePlan plan({}, 0.15, false);
  answer(plan, {{0.15, true}});
  EXPECT_TRUE(plan.drifted());
  EXPECT_EQ(plan.disturbed(), 2u);
}

TEST(MeasurePlan, RefiningThatIsDisturbedKeepsTheScreening) {
  MeasurePlan plan({.best_seconds = 1e-3}, 1e-3, false);
  answer(plan, {{1e-3}, {1e-3}, {1e-3}, {2e-3, true}});
  EXPECT_FALSE(plan.drifted());
  EXPECT_THAT(plan.times(), SizeIs(3));
}

TEST(MeasurePlan, ADisturbedRepeatCensorsOnlyWhatWasSlowByItself) {
  MeasurePlan slow({.best_seconds = 1e-3}, 1e-3, false), hit({.best_seconds = 1e-3}, 1e-3, false);
  answer(slow, {{9e-3, true, 4e-3}});
  EXPECT_TRUE(slow.censored());
  EXPECT_THAT(slow.times(), ElementsAre(4e-3));
  EXPECT_TRUE(slow.drifted()) << "the bound holds for such a machine";
  answer(hit, {{9e-3, true, 1e-3}, {2e-3}});
  EXPECT_FALSE(hit.drifted());
  MeasurePlan accident({.best_seconds = 1e-3}, 1e-3, false), quiet({.best_seconds = 1e-3}, 1e-3, false);
  answer(accident, {{9e-3, true, 4e-3}, {2e-3}});
  EXPECT_FALSE(accident.censored() || accident.drifted());
  answer(quiet, {{4e-3}});
  EXPECT_TRUE(quiet.censored());
  EXPECT_FALSE(quiet.drifted());
  EXPECT_FALSE(hit.censored());
  EXPECT_THAT(hit.times(), ElementsAre(2e-3, 2e-3, 2e-3));
}

TEST(MeasurePlan, DeadlineGrowsWithTheBest) {
  EXPECT_EQ(run_deadline({}), 10);
  EXPECT_EQ(run_deadline({.best_seconds = 1}), 50);
}

}  // namespace
}  // namespace hone::agent
