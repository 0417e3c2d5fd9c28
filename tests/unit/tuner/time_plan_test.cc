#include "tuner/driver/time_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/fake_clock.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

TEST(TimePlan, PartsEndOneAfterTheOtherWithinAll) {
  for (const double all : {2.0, 10.0, 30.0, 60.0, 600.0, 36000.0})
    for (const double build : {0.0, 0.5, 5.0, 50.0}) {
      FakeClock clock;
      TimePlan plan(clock, clock.now(), all);
      clock.advance(1s);
      plan.share(true, build);
      EXPECT_GE(plan.for_search(), (all - 1) / 3) << all << " " << build;
      EXPECT_LT(plan.for_search(), plan.for_confirming());
      EXPECT_LE(plan.for_confirming(), plan.for_alternatives());
      EXPECT_LE(plan.for_alternatives(), plan.left());
      EXPECT_EQ(plan.for_alternatives() < plan.left(), build > 0);
      EXPECT_DOUBLE_EQ(plan.left(), all - 1);
    }
}

TEST(TimePlan, WhatEndsEarlyLeavesItsTime) {
  FakeClock clock;
  TimePlan plan(clock, clock.now(), 60);
  plan.share(true, 1);
  const double confirming = plan.for_confirming();
  clock.advance(5s);
  EXPECT_NEAR(plan.for_confirming(), confirming - 5, 1e-9);
  clock.advance(100s);
  EXPECT_EQ(plan.for_search(), 0);
  EXPECT_EQ(plan.left(), 0);
}

TEST(TimePlan, WithoutALimitNothingEnds) {
  FakeClock clock;
  TimePlan plan(clock, clock.now(), 0);
  plan.share(true, 5);
  clock.advance(100'000s);
  EXPECT_FALSE(plan.is_limited());
  EXPECT_TRUE(std::isinf(plan.for_search()) && std::isinf(plan.left()));
}

}  // namespace
}  // namespace hone
