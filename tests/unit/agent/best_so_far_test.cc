#include "rpc/agent/run/best_so_far.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

TEST(BestSoFar, KnowsBetterThanASessionThatHeardLate) {
  BestSoFar best;
  const BestSoFar::Key key{{1, 1}, {2, 2}, 2};
  EXPECT_EQ(best.at_most(key, 5), 5);
  best.took(key, 3);
  best.took(key, 4);
  EXPECT_EQ(best.at_most(key, 5), 3);
  EXPECT_EQ(best.at_most(key, 2), 2);
  EXPECT_EQ(best.at_most(key, 0), 0);  // the session knows of none: nothing is to be censored
}

TEST(BestSoFar, ComparesOnlyWhatIsComparable) {
  BestSoFar best;
  best.took({{1, 1}, {2, 2}, 2}, 3);
  EXPECT_EQ(best.at_most({{9, 9}, {2, 2}, 2}, 5), 5);
  EXPECT_EQ(best.at_most({{1, 1}, {9, 9}, 2}, 5), 5);
  EXPECT_EQ(best.at_most({{1, 1}, {2, 2}, 1}, 5), 5);
}

TEST(BestSoFar, ForgetsTheSessionsOfLongAgo) {
  BestSoFar best;
  for (uint64_t i = 0; i < 100; ++i) best.took({{i, 0}, {}, 1}, 3);
  EXPECT_EQ(best.at_most({{0, 0}, {}, 1}, 5), 5);
  EXPECT_EQ(best.at_most({{99, 0}, {}, 1}, 5), 3);
}

}  // namespace
}  // namespace hone::agent
