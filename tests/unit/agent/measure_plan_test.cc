#include "rpc/agent/measure_plan.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

// Runs the plan of a kernel that always takes `seconds`; returns how many warm-ups it got.
int play(MeasurePlan& plan, double seconds, double left = 1000) {
  int warmups = 0;
  while (const auto step = plan.next(left)) {
    warmups += !step->timed;
    const double took = step->timed ? std::max(seconds, step->min_seconds) : seconds;
    plan.took(seconds);
    left -= took;
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
  play(near, 1.05e-3);
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

TEST(MeasurePlan, DeadlineGrowsWithTheBest) {
  EXPECT_EQ(run_deadline({}), 10);
  EXPECT_EQ(run_deadline({.best_seconds = 1}), 50);
}

}  // namespace
}  // namespace hone::agent
