#include "tuner/cost/accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace hone {
namespace {

constexpr std::nullopt_t kNobody = std::nullopt;

TEST(PairwiseAccuracy, CountsPairsInTheRightOrder) {
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{3, 30}, {2, 20}, {1, 10}}), 1.0);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{1, 30}, {2, 20}, {3, 10}}), 0.0);
  EXPECT_DOUBLE_EQ(*pairwise_accuracy(std::vector<Guess>{{2, 30}, {3, 20}, {1, 10}}), 2.0 / 3);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{5, 30}, {5, 20}}), 0.5) << "one prediction for both says nothing";
}

TEST(PairwiseAccuracy, LeavesOutPairsThatAreAsFast) {
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{1, 104}, {2, 100}}), std::nullopt);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{1, 106}, {2, 100}}), 0.0);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{2, 104}, {3, 100}, {1, 50}}), 1.0);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{2, 120}, {3, 100}}, 0.3), std::nullopt);
}

TEST(PairwiseAccuracy, AFailureIsSlowerThanAnythingThatRan) {
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{1, 0}, {2, 10}}), 1.0);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{3, 0}, {2, 10}}), 0.0);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{1, 0}, {2, 0}}), std::nullopt) << "two failures are equally bad";
}

TEST(PairwiseAccuracy, LeavesOutWhatNobodyGuessed) {
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{kNobody, 100}, {2, 10}, {1, 5}}), 1.0);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{kNobody, 100}, {2, 10}}), std::nullopt);
  EXPECT_EQ(pairwise_accuracy(std::vector<Guess>{{NAN, 100}, {2, 10}}), std::nullopt);
  EXPECT_EQ(pairwise_accuracy({}), std::nullopt);
}

TEST(PeakAt, IsTheBestOfThoseTrustedOverTheBestOfAll) {
  const std::vector<Guess> g{{6, 50}, {5, 80}, {4, 10}, {3, 100}, {2, 90}, {1, 0}};
  EXPECT_EQ(peak_at(g, 1), 0.5);
  EXPECT_EQ(peak_at(g, 2), 0.8);
  EXPECT_EQ(peak_at(g, 4), 1.0);
  EXPECT_EQ(peak_at(g, 100), 1.0) << "fewer than k: all of them";
  EXPECT_EQ(peak_at(g, 0), std::nullopt);
}

TEST(PeakAt, SaysNothingWithoutGuessesOrResults) {
  EXPECT_EQ(peak_at({}, 1), std::nullopt);
  EXPECT_EQ(peak_at(std::vector<Guess>{{kNobody, 10}}, 1), std::nullopt);
  EXPECT_EQ(peak_at(std::vector<Guess>{{1, 0}, {2, 0}}, 1), std::nullopt);
  EXPECT_EQ(peak_at(std::vector<Guess>{{-INFINITY, 10}, {1, 0}}, 1), 0.0) << "the trusted one failed";
}

// The order of the rows must not decide: with equal predictions the peak is the mean over all ways to choose.
TEST(PeakAt, EqualPredictionsAreNeitherLuckyNorUnlucky) {
  std::vector<Guess> g{{1, 100}, {1, 60}, {1, 20}};
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_DOUBLE_EQ(*peak_at(g, 1), 0.6);
    EXPECT_DOUBLE_EQ(*peak_at(g, 2), (1.0 + 1.0 + 0.6) / 3);
    EXPECT_DOUBLE_EQ(*peak_at(g, 3), 1.0);
    std::rotate(g.begin(), g.begin() + 1, g.end());
  }
  EXPECT_DOUBLE_EQ(*peak_at(std::vector<Guess>{{9, 50}, {1, 100}, {1, 20}}, 2), (1.0 + 0.5) / 2)
      << "the sure one is a floor";
}

TEST(RecentAccuracy, IsTheMeanOfTheLatestBatches) {
  RecentAccuracy recent(2);
  EXPECT_EQ(recent.mean(), Accuracy{});
  recent.add({0.1, 0.1, 0.1});
  recent.add({0.5, std::nullopt, 1.0});
  recent.add({0.75, 0.5, std::nullopt});
  EXPECT_EQ(recent.mean(), (Accuracy{0.625, 0.5, 1.0}));
}

TEST(AccuracyOf, HasAllThree) {
  const std::vector<Guess> g{{6, 50}, {5, 80}, {4, 10}, {3, 100}};
  EXPECT_EQ(accuracy_of(g), (Accuracy{pairwise_accuracy(g), 0.5, 1.0}));
}

}  // namespace
}  // namespace hone
