#include "tuner/session/total_course.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(TotalCourse, SaysNothingAtFirst) {
  TotalCourse c;
  EXPECT_FALSE(c.gain_per_minute());
  EXPECT_FALSE(c.gain_of_latest(1));
  c.add(0, 10, 2.0);
  c.add(9, 40, 1.0);
  EXPECT_FALSE(c.gain_per_minute()) << "not ten seconds yet";
  EXPECT_FALSE(c.gain_of_latest(31)) << "there were thirty";
}

TEST(TotalCourse, GainsAreSharesPerMinute) {
  TotalCourse c;
  c.add(0, 0, 2.0);
  c.add(30, 100, 1.5);
  EXPECT_DOUBLE_EQ(*c.gain_per_minute(), 0.5) << "a quarter in half a minute";
  c.add(80, 200, 1.2);
  EXPECT_DOUBLE_EQ(*c.gain_per_minute(), 0.2 * 60 / 50) << "what was more than a minute ago does not count";
}

TEST(TotalCourse, LatestTrialsAreJudgedTogether) {
  TotalCourse c;
  c.add(0, 0, 2.0);
  c.add(1, 100, 1.0);
  c.add(2, 150, 0.9);
  c.add(3, 200, 0.9);
  EXPECT_DOUBLE_EQ(*c.gain_of_latest(50), 0);
  EXPECT_DOUBLE_EQ(*c.gain_of_latest(100), 1 - 0.9);
  EXPECT_DOUBLE_EQ(*c.gain_of_latest(120), 1 - 0.9 / 2.0) << "the last point with all of them to come";
  EXPECT_DOUBLE_EQ(*c.gain_of_latest(200), 1 - 0.9 / 2.0);
  EXPECT_FALSE(c.gain_of_latest(201));
}

}  // namespace
}  // namespace hone
