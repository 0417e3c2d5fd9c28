#include "rpc/agent/supervise/builder_patience.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

using namespace std::chrono_literals;

class BuilderPatienceTest : public testing::Test {
 protected:
  // How long a build that is asked for now is waited for, where nothing else is heard.
  Clock::Duration wait(double limit_s = 10) const { return patience.until(now, limit_s) - now; }
  void answer_after(Clock::Duration time) {
    const Clock::TimePoint asked = now;
    now += time;
    patience.answered(asked, now);
  }

  BuilderPatience patience{{.first = 15, .least = 5, .most = 30, .pause = 60}};
  Clock::TimePoint now{1h};
};

TEST_F(BuilderPatienceTest, IsTwiceWhatBuildsTookAndNeverLessThanTheLeast) {
  EXPECT_EQ(wait(), 15s) << "nothing is known yet";
  answer_after(100ms);
  EXPECT_EQ(wait(), 5s);
  answer_after(4s);
  EXPECT_EQ(wait(), 8s);
  answer_after(100ms);
  EXPECT_EQ(wait(), 8s) << "the longest of the latest counts";
  for (int i = 0; i < 32; ++i) answer_after(100ms);
  EXPECT_EQ(wait(), 5s) << "and that was long ago";
}

TEST_F(BuilderPatienceTest, EndsWithTheBuildsOwnLimitAndALittleMore) {
  answer_after(100s);
  EXPECT_EQ(wait(10), 40s);
  EXPECT_EQ(wait(300), 200s);
}

// Eight builds asked for at once, answered one by one: the last waits for all, and that is no silence.
TEST_F(BuilderPatienceTest, AQueueThatIsWorkedOffIsNoSilence) {
  const Clock::TimePoint asked = now;
  for (int i = 0; i < 8; ++i) {
    ASSERT_LT(now, patience.until(asked, 10)) << i;
    now += 4s;
    patience.answered(asked, now);
  }
  EXPECT_EQ(wait(), 8s) << "the queue's length is not a build's";
}

TEST_F(BuilderPatienceTest, WhoLetOneWaitIsNotAskedForAMinute) {
  EXPECT_TRUE(patience.asks(now));
  const Clock::TimePoint asked = now;
  now = patience.until(asked, 10);
  patience.in_vain(asked, now);
  EXPECT_FALSE(patience.asks(now));
  now += 59s;
  EXPECT_FALSE(patience.asks(now));
  now += 1s;
  EXPECT_TRUE(patience.asks(now));
  EXPECT_EQ(wait(), 30s) << "it may have become slow: it gets twice the time";
}

}  // namespace
}  // namespace hone::agent
