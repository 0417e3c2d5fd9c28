#include "tuner/driver/verdict.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace hone {
namespace {

TEST(Verdict, IsARatioWithAnInterval) {
  const std::vector<double> ones(20, 1);
  std::vector<double> twos(20, 2);
  Ratio r = ratio_of_turns(twos, ones);
  EXPECT_EQ(r.ratio, 2);
  EXPECT_TRUE(r.is_faster() && r.is_narrow());
  EXPECT_EQ(to_string(r), "2.00x (1.99 to 2.01)");
  // A turn that something disturbed says nothing.
  twos[3] = 40;
  EXPECT_EQ(to_string(ratio_of_turns(twos, ones)), "2.00x (1.99 to 2.01)");
  r = ratio_of_turns(ones, twos);
  EXPECT_TRUE(r.is_slower());
  EXPECT_FALSE(Ratio().is_slower() || Ratio().is_known());
}

TEST(Verdict, OfAFewTurnsIsAsWideAsTheyAre) {
  const Ratio r = ratio_of_turns({1.0, 1.1, 1.2, 0.9, 1.3, 1.0, 1.1}, std::vector<double>(7, 1));
  EXPECT_LT(r.low, 0.9);
  EXPECT_GT(r.high, 1.3);
  EXPECT_TRUE(r.is_unclear());
  EXPECT_THAT(to_string(r), testing::StartsWith("cannot tell: the times varied too much (0.90x to 1.31x)"));
}

TEST(Verdict, OfHardlyAnyTurnsThereIsNone) {
  EXPECT_FALSE(ratio_of_turns(std::vector<double>(6, 2), std::vector<double>(6, 1)).is_known());
}

// A thousand intervals come from turns, a tenth of them disturbed by up to three times: few miss the ratio.
TEST(Verdict, HoldsTheRatioThatLongTurnsFind) {
  std::mt19937_64 rng(7);
  std::normal_distribution<double> noise(0, 0.02);
  std::uniform_real_distribution<double> share(0, 1);
  for (const double ratio : {0.93, 1.0, 1.04, 1.5})
    for (const size_t turns : {7, 8, 25, 60}) {
      int missed = 0;
      for (int run = 0; run < 250; ++run) {
        std::vector<double> a, b;
        for (size_t t = 0; t < turns; ++t) {
          const auto seconds = [&](double of) {
            return of * std::exp(noise(rng)) * (share(rng) < 0.1 ? 1 + 2 * share(rng) : 1);
          };
          a.push_back(seconds(ratio));
          b.push_back(seconds(1));
        }
        const Ratio r = ratio_of_turns(a, b);
        missed += r.low > ratio || r.high < ratio;
      }
      EXPECT_LE(missed, 12) << ratio << " " << turns;
    }
}

}  // namespace
}  // namespace hone
