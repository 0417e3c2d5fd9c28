#include "rpc/agent/run/quiet_level.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

// So many readings of one core; true when the last of them was quiet.
bool read(QuietLevel& level, double seconds, int times = 1) {
  bool quiet = true;
  for (int i = 0; i < times; ++i) quiet = level.add({seconds});
  return quiet;
}

TEST(QuietLevel, TellsSlowerFromQuiet) {
  QuietLevel level;
  EXPECT_TRUE(read(level, 1.0, 100));
  EXPECT_TRUE(read(level, 1.1));
  EXPECT_FALSE(read(level, 1.3));
  EXPECT_TRUE(read(level, 0.9));
}

TEST(QuietLevel, TrustsTheFirstReadings) {
  QuietLevel level;
  EXPECT_TRUE(read(level, 1.0));
  EXPECT_TRUE(read(level, 2.0));
}

TEST(QuietLevel, KeepsALevelOfItsOwnForEachCore) {
  QuietLevel level;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(level.add({1.0, 2.0}));  // a slow core and a fast one
  EXPECT_TRUE(level.add({1.0, 2.1}));
  EXPECT_FALSE(level.add({2.0, 2.0}));
  EXPECT_FALSE(level.add({1.0, 2.6}));
  EXPECT_NEAR(level.of(1), 2.0, 1e-12);
}

TEST(QuietLevel, StaysWhereItIsWhileTheMachineIsMostlyDisturbed) {
  QuietLevel level;
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(read(level, 1.0));
    EXPECT_EQ(read(level, 1.5, 2), i < 4) << i;  // the first dozen readings are not judged
  }
}

TEST(QuietLevel, LearnsOfQuietThatComesLate) {
  QuietLevel level;
  EXPECT_TRUE(read(level, 1.5, 100));  // it was busy from the start
  EXPECT_TRUE(read(level, 1.0, 60));
  EXPECT_FALSE(read(level, 1.5));
}

TEST(QuietLevel, AcceptsAChangeForGood) {
  QuietLevel level;
  read(level, 1.0, 2000);
  EXPECT_FALSE(read(level, 1.5, 100));
  EXPECT_TRUE(read(level, 1.5, 1000));
}

TEST(QuietLevels, UnitsOfTilesAreJudgedByThemselves) {
  QuietLevels levels;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(levels.add({1, 1}, {}));
    EXPECT_TRUE(levels.add({1, 1}, {8, 8}));
  }
  EXPECT_FALSE(levels.add({1, 1}, {8, 20})) << "one unit is slow";
  EXPECT_TRUE(levels.add({1, 1}, {})) << "which kernels without tiles do not feel";
  EXPECT_FALSE(levels.add({1, 1.5}, {8, 8}));
  EXPECT_FALSE(levels.add({1.5, 1}, {})) << "no readings of the unit";
  EXPECT_TRUE(levels.add({2}, {16})) << "one core by itself is another reading";
}

TEST(WaitBudget, AMachineThatIsNeverQuietLosesATenthOfItsTime) {
  WaitBudget budget;
  double waited = 0;
  for (int i = 0; i < 1000; ++i) {
    waited += budget.seconds();
    budget.spend(budget.seconds());
    budget.earn(0.05);
  }
  EXPECT_NEAR(waited, WaitBudget::kLongest + 999 * 0.005, 1e-6);
}

TEST(WaitBudget, IsNeverLongerThanASecond) {
  WaitBudget budget;
  budget.spend(0.5);
  EXPECT_DOUBLE_EQ(budget.seconds(), 0.5);
  budget.earn(100);
  EXPECT_DOUBLE_EQ(budget.seconds(), 1);
}

}  // namespace
}  // namespace hone::agent
