#include "tracker/state/health.h"

#include <gtest/gtest.h>

#include <random>

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

const Health::Limits kLimits;
const wire::Uuid kFirst = wire::Uuid::random(), kOther = wire::Uuid::random();

TEST(Health, StrikesEndWithAnAnswerAndCanBeWithdrawnByJob) {
  Health health;
  health.strike({kFirst, 1});
  health.strike({kFirst, 2});
  EXPECT_TRUE(health.withdraw_strike({kFirst, 1}));
  EXPECT_FALSE(health.withdraw_strike({kFirst, 1}));
  EXPECT_EQ(health.strikes(), 1u);
  health.answered();
  EXPECT_EQ(health.strikes(), 0u);
}

TEST(Health, FailuresCountInARowOfOneSessionAndAgainstWhatOthersManaged) {
  Health health;
  for (uint64_t i = 1; i < 16; ++i) EXPECT_FALSE(health.failed(kFirst, 100 + i, kLimits));
  EXPECT_TRUE(health.failed(kFirst, 116, kLimits));
  for (int i = 0; i < 15; ++i) EXPECT_FALSE(health.failed(kOther, 1000, kLimits)) << "another session begins anew";
  EXPECT_FALSE(health.failed(kOther, 1007, kLimits)) << "too few went well elsewhere";
  EXPECT_TRUE(health.failed(kOther, 1008, kLimits));
  health.went_well();
  EXPECT_FALSE(health.failed(kOther, 2000, kLimits));
}

TEST(Health, ASessionThatBeganAnewIsNoSuccessElsewhere) {
  Health health;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(health.failed(kFirst, 500, kLimits));
  EXPECT_FALSE(health.failed(kFirst, 0, kLimits)) << "the tracker had forgotten the session, and counts from nothing";
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(health.failed(kFirst, 7, kLimits));
  EXPECT_TRUE(health.failed(kFirst, 8, kLimits));
}

TEST(Health, ADeviceIsSlowWhenItsSentinelStaysAboveItsQuietLevel) {
  Health health;
  std::mt19937_64 random(5);
  const auto reading = [&](double level) { return level * std::uniform_real_distribution<>(0.97, 1.05)(random); };
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(health.sentinel(reading(1e-4)));
  for (int i = 0; i < 5; ++i) health.sentinel(reading(2e-4));
  EXPECT_FALSE(health.slow()) << "a short disturbance";
  for (int i = 0; i < 5; ++i) health.sentinel(reading(1e-4));
  int changes = 0;
  for (int i = 0; i < 50; ++i) changes += health.sentinel(reading(1.4e-4));
  EXPECT_TRUE(health.slow());
  EXPECT_EQ(changes, 1);
  EXPECT_NEAR(health.quiet_seconds(), 1e-4, 0.1e-4) << "the quiet level does not follow";
  for (int i = 0; i < 20; ++i) changes += health.sentinel(reading(1e-4));
  EXPECT_FALSE(health.slow());
  EXPECT_EQ(changes, 2);
}

TEST(Health, AFirstReadingUnderLoadIsNoQuietLevelForLong) {
  Health health;
  health.sentinel(5e-4);
  for (int i = 0; i < 30; ++i) health.sentinel(1e-4);
  EXPECT_NEAR(health.quiet_seconds(), 1e-4, 0.02e-4);
}

TEST(Health, QuarantinesDoubleUntilAnHourAndAreForgottenAfterALongGoodTime) {
  Health health;
  const Clock::TimePoint start{};
  std::vector<double> waits;
  for (int i = 0; i < 10; ++i) {
    health.quarantined(start, kLimits);
    waits.push_back(std::chrono::duration<double>(health.wait_until() - start).count());
  }
  EXPECT_EQ(waits, (std::vector<double>{30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600}));
  EXPECT_FALSE(health.may_be_tried(start + 3599s));
  EXPECT_TRUE(health.may_be_tried(start + 3600s));
  for (int i = 0; i < 64; ++i) health.went_well();
  health.quarantined(start, kLimits);
  EXPECT_EQ(health.wait_until(), start + 30s);
  health.take_quarantine_back();
  health.quarantined(start, kLimits);
  EXPECT_EQ(health.wait_until(), start + 30s);
}

TEST(Health, AProbationIsPassedByGoodAnswersAndFailedByTwoBadOnesInARow) {
  using enum Health::Probation;
  Health health;
  health.begin_probation();
  EXPECT_EQ(health.answered_on_probation(false, kLimits), kGoesOn);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(health.answered_on_probation(true, kLimits), kGoesOn);
  EXPECT_EQ(health.answered_on_probation(true, kLimits), kPassed);
  health.begin_probation();
  EXPECT_EQ(health.answered_on_probation(false, kLimits), kGoesOn);
  EXPECT_EQ(health.answered_on_probation(false, kLimits), kFailed);
}

}  // namespace
}  // namespace hone::tracker
