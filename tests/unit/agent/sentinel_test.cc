#include "rpc/agent/run/sentinel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace hone::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;

// Gives out the readings that a test wrote down, and counts the pauses.
struct SentinelScript {
  std::deque<std::vector<CoreReading>> readings;
  int pauses = 0;

  Sentinel sentinel() {
    return Sentinel(
        [this] {
          std::vector<CoreReading> next = readings.front();
          readings.pop_front();
          return next;
        },
        [this](double) { ++pauses; });
  }
};

TEST(Sentinel, ReadsTheWorkOfEachCore) {
  SentinelScript script{{{{5, 1}, {5, 1}}, {{6, 1}, {5, 1.01}}}};
  EXPECT_THAT(script.sentinel().read(), ElementsAre(6, 5));
  EXPECT_EQ(script.pauses, 0);
}

TEST(Sentinel, AClockThatTheKernelLoweredIsGivenTimeToRecover) {
  SentinelScript script{{{{5, 1}, {5, 1}}, {{6.2, 1.25}, {5, 1}}, {{5.1, 1}, {5, 1}}}};
  EXPECT_THAT(script.sentinel().read(), ElementsAre(5.1, 5));
  EXPECT_EQ(script.pauses, 1);
}

TEST(Sentinel, AClockThatStaysLowShows) {
  SentinelScript script{{{{5, 1}}, {{6.2, 1.25}}, {{6.2, 1.25}}}};
  EXPECT_THAT(script.sentinel().read(), ElementsAre(6.2));
}

TEST(Sentinel, ANeighbourWhoLeavesDuringThePauseWasSeen) {
  SentinelScript script{{{{5, 1}, {5, 1}}, {{6.2, 1.25}, {9, 1}}, {{5, 1}, {5, 1}}}};
  EXPECT_THAT(script.sentinel().read(), ElementsAre(5, 9));
}

TEST(Sentinel, TheShortestChainIsRemembered) {
  SentinelScript script{{{{6, 1.2}}, {{5, 1}}, {{6, 1.2}}, {{5, 1}}}};
  Sentinel sentinel = script.sentinel();
  EXPECT_THAT(sentinel.read(), ElementsAre(5));
  EXPECT_THAT(sentinel.read(), ElementsAre(5));
  EXPECT_EQ(script.pauses, 1) << "of a process that was slow from the beginning only what comes later can be told";
}

TEST(Sentinel, ReadsRealCores) {
  ThreadPool pool({.workers = 2});
  for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const std::vector<CoreReading> cores = read_cores(p);
    ASSERT_EQ(cores.size(), p ? 2u : 1u);
    for (const CoreReading& c : cores) {
      EXPECT_THAT(c.work, Gt(0));
      EXPECT_THAT(c.chain, Gt(0));
    }
  }
}

}  // namespace
}  // namespace hone::agent
