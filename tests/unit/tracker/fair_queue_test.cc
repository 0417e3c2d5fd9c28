#include "tracker/dispatch/fair_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/fakes/fake_clock.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using Place = FairQueue::Place;

constexpr uint32_t kGroup = 1, kOther = 2;
constexpr uint32_t kBoth[] = {kGroup, kOther};
const auto kAnyJob = [](const JobKey&) { return true; };

wire::Uuid session(uint8_t n) {
  wire::Uuid uuid;
  uuid.value[0] = n;
  return uuid;
}

struct Queue : FairQueue {
  explicit Queue(FairOptions options = {}) : FairQueue(clock, options) {}

  void push_many(uint8_t n, int count, Place place = Place::kBack) {
    for (int i = 0; i < count; ++i) push({session(n), next_seq++}, place);
  }
  std::optional<Picked> next(std::span<const uint32_t> groups = kBoth) { return pick(groups, 1, kAnyJob); }
  void done(const Picked& picked, double seconds) {
    settle(picked.job.session, picked.estimate, clock.now(), seconds, 1, true);
  }

  // The sessions' shares of the device seconds when each that is served asks again: session n's jobs cost costs[n]
  // each.
  std::vector<double> shares(const std::vector<double>& costs, int jobs) {
    std::vector<double> used(costs.size());
    double total = 0;
    for (int i = 0; i < jobs; ++i) {
      const auto picked = next();
      const uint8_t n = picked->job.session.value[0];
      done(*picked, costs[n]);
      push_many(n, 1);
      used[n] += costs[n], total += costs[n];
    }
    for (double& one : used) one /= total;
    return used;
  }

  static FakeClock clock;
  uint64_t next_seq = 1;
};
FakeClock Queue::clock;

TEST(FairQueue, ThoseThatNobodyWaitsForComeLastAndAreNoMeasure) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, /*priority=*/100);
  queue.add_session(session(2), kGroup, 1, /*priority=*/-100);
  queue.push_many(1, 3);
  queue.push_many(2, 200);
  queue.set_absent(session(1), true);
  for (int i = 0; i < 200; ++i) {
    const auto picked = queue.next();
    ASSERT_EQ(picked->job.session, session(2)) << "not even the share that lower priorities have";
    queue.done(*picked, 0.1);
  }
  EXPECT_FALSE(queue.lowest(kBoth));
  EXPECT_EQ(queue.next()->job.session, session(1)) << "nobody else has any";
  queue.push_many(2, 1);
  queue.set_absent(session(1), false);
  EXPECT_EQ(queue.next()->job.session, session(1));
}

TEST(FairQueue, DeviceSecondsFollowTheWeightsWhateverTheJobsCost) {
  Queue queue;
  const double weights[] = {1, 2, 4};
  for (uint8_t n = 0; n < 3; ++n) {
    queue.add_session(session(n), kGroup, weights[n], 0);
    queue.push_many(n, 4);
  }
  const auto shares = queue.shares({0.05, 1.5, 0.4}, 20'000);
  for (size_t n = 0; n < 3; ++n) EXPECT_NEAR(shares[n], weights[n] / 7, 0.02 * weights[n] / 7) << n;
}

// Session 1 can only be served with group 1, session 2 with both: each shall have half of the two devices' time.
TEST(FairQueue, WhoeverHasOtherDevicesLeavesThisOneToThoseWhoHaveNot) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, 0);
  queue.add_session(session(2), kOther, 1, 0);
  const uint32_t first[] = {kGroup, kOther}, second[] = {kOther};  // the devices
  double used[3] = {};
  queue.push_many(1, 4), queue.push_many(2, 4);
  for (int i = 0; i < 2000; ++i) {
    for (const auto& device : {std::span<const uint32_t>(first), std::span<const uint32_t>(second)}) {
      const auto picked = queue.next(device);
      queue.done(*picked, 1);
      queue.push_many(picked->job.session.value[0], 1);
      used[picked->job.session.value[0]] += 1;
    }
    Queue::clock.advance(1s);
  }
  EXPECT_NEAR(used[1], 2000, 40);
  EXPECT_NEAR(used[2], 2000, 40);
}

TEST(FairQueue, ANewSessionIsNotPaidForTheTimeBefore) {
  Queue queue;
  int first = 0;
  const auto run = [&](int jobs) {
    first = 0;
    for (int i = 0; i < jobs; ++i) {
      const auto picked = queue.next();
      first += picked->job.session == session(1);
      queue.done(*picked, 0.1);
      queue.push_many(picked->job.session.value[0], 1);
    }
  };
  queue.add_session(session(1), kGroup, 1, 0);
  queue.push_many(1, 8);
  run(1000);
  queue.add_session(session(2), kGroup, 1, 0);
  queue.rise(session(2), *queue.lowest(kBoth));
  queue.push_many(2, 8);
  run(1000);
  EXPECT_NEAR(first, 500, 10);
}

TEST(FairQueue, AnIdleSessionSavesUpNoMoreThanTheCredit) {
  Queue queue({.credit_s = 3});
  queue.add_session(session(1), kGroup, 1, 0);
  queue.add_session(session(2), kGroup, 1, 0);
  for (int i = 0; i < 500; ++i) {  // session 2 has no jobs
    queue.push_many(1, 1);
    queue.done(*queue.next(), 1);
  }
  queue.push_many(1, 100);
  queue.rise(session(2), *queue.lowest(kBoth));
  queue.push_many(2, 100);
  int second = 0;
  for (int i = 0; i < 100; ++i) {
    const auto picked = queue.next();
    second += picked->job.session == session(2);
    queue.done(*picked, 1);
  }
  EXPECT_NEAR(second, 50 + 1.5, 2);
}

TEST(FairQueue, UseIsForgotten) {
  Queue queue({.memory_s = 10});
  queue.add_session(session(1), kGroup, 1, 0);
  queue.push_many(1, 1);
  queue.done(*queue.next(), 100);
  EXPECT_NEAR(queue.used(session(1)), 100, 1e-6);
  Queue::clock.advance(10s);
  EXPECT_NEAR(queue.used(session(1)), 100 / 2.718281828, 1e-3);
  Queue::clock.advance(3600s);  // longer than a double could hold the scale of
  queue.push_many(1, 1);
  queue.done(*queue.next(), 5);
  EXPECT_NEAR(queue.used(session(1)), 5, 1e-6);
}

// After so long all levels are zero, and differing ones are equal: turns must stay in order, and sessions that leave
// must be gone.
TEST(FairQueue, SessionsThatWaitedForDaysAreServedInTurnAndLeave) {
  Queue queue;
  constexpr uint8_t kSessions = 8;
  for (uint8_t n = 0; n < kSessions; ++n) {
    queue.add_session(session(n), kGroup, 1, 0);
    queue.settle(session(n), 0, Queue::clock.now(), kSessions - n, 1, false);  // the later it came, the lower it stands
    queue.push_many(n, 2);
  }
  Queue::clock.advance(72h);  // no device asks
  std::map<uint8_t, int> served;
  for (int i = 0; i < kSessions; ++i) ++served[queue.next()->job.session.value[0]];
  EXPECT_EQ(served.size(), kSessions) << "each once before any twice";
  for (uint8_t n = 0; n < kSessions; n += 2) queue.remove_session(session(n));
  for (int i = 0; i < kSessions / 2; ++i) ++served[queue.next()->job.session.value[0]];
  for (const auto& [n, times] : served) EXPECT_EQ(times, n % 2 ? 2 : 1) << int{n};
  EXPECT_FALSE(queue.next());
}

TEST(FairQueue, AnAnswerThatComesAfterDaysCountsAsAnyOther) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, 0);
  Queue::clock.advance(72h);
  queue.settle(session(1), 0, Queue::clock.now(), 5, 1, true);
  EXPECT_NEAR(queue.used(session(1)), 5, 1e-6);
}

TEST(FairQueue, WhatWasUsedIsForgivenWhenTheDevicesAreGone) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, 0);
  queue.add_session(session(2), kGroup, 1, 0);
  queue.settle(session(1), 0, Queue::clock.now(), 1000, 1, false);
  queue.push_many(1, 10), queue.push_many(2, 10);
  queue.sink(session(1), *queue.lowest(kBoth));
  int first = 0;
  for (int i = 0; i < 10; ++i) {
    const auto picked = queue.next();
    first += picked->job.session == session(1);
    queue.done(*picked, 1);
  }
  EXPECT_EQ(first, 5);
}

TEST(FairQueue, AHigherPriorityGoesFirst) {
  Queue queue;
  queue.add_session(session(1), kGroup, 100, 0);
  queue.add_session(session(2), kOther, 1, 5);
  queue.push_many(1, 5), queue.push_many(2, 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.next()->job.session, session(2));
  EXPECT_EQ(queue.next()->job.session, session(1));
}

TEST(FairQueue, LowerPrioritiesKeepASixteenthEach) {
  Queue queue;
  for (uint8_t n = 0; n < 3; ++n) {
    queue.add_session(session(n), kGroup, 1, n);
    queue.push_many(n, 4);
  }
  const auto shares = queue.shares({0.3, 0.1, 2}, 50'000);
  EXPECT_NEAR(shares[2], 15. / 16, 0.01);
  EXPECT_NEAR(shares[1], 15. / 256, 0.006);
  EXPECT_NEAR(shares[0], 1. / 256, 0.0006);
}

TEST(FairQueue, KeepsTheOrderWithinASession) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, 0);
  for (uint64_t i = 1; i <= 3; ++i) queue.push({session(1), i});
  queue.push({session(1), 9}, Place::kFront);
  EXPECT_EQ(queue.next()->job.seq, 9u);
  EXPECT_TRUE(queue.erase({session(1), 2}));
  EXPECT_FALSE(queue.erase({session(1), 2}));
  EXPECT_EQ(queue.next()->job.seq, 1u);
  EXPECT_EQ(queue.next()->job.seq, 3u);
  EXPECT_FALSE(queue.next());
}

TEST(FairQueue, ManyJobsThatADeviceMayNotHaveDoNotHideOneThatItMay) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, 0);
  queue.push_many(1, 500, Place::kRetry);
  queue.push({session(1), 1000}, Place::kRetry);
  queue.add_session(session(2), kGroup, 1, -1);
  const auto only = [](uint64_t seq) { return [seq](const JobKey& key) { return key.seq == seq; }; };
  EXPECT_EQ(queue.pick(kBoth, 1, only(1000))->job.seq, 1000u);
  EXPECT_FALSE(queue.pick(kBoth, 1, only(1000)));
  queue.push({session(2), 7});
  EXPECT_EQ(queue.pick(kBoth, 1, only(1000))->job.seq, 7u) << "the next priority";
  queue.push({session(1), 1001});
  EXPECT_EQ(queue.pick(kBoth, 1, only(1000))->job.seq, 1001u) << "what nobody lost is not asked about";
  EXPECT_EQ(queue.retries(kGroup), 500u);
}

TEST(FairQueue, WhoeverAsksGetsAJobHoweverDeepInDebtTheSessionIs) {
  Queue queue;
  queue.add_session(session(1), kGroup, 0.001, 0);
  queue.push_many(1, 2);
  queue.settle(session(1), 0, Queue::clock.now(), 1e6, 1, true);
  EXPECT_TRUE(queue.next());
  EXPECT_TRUE(queue.next());
  queue.push_many(1, 1);
  queue.remove_session(session(1));
  EXPECT_EQ(queue.FairQueue::size(), 0u);
  EXPECT_FALSE(queue.next());
}

TEST(FairQueue, AChangeOfGroupOrWeightTakesTheJobsAlong) {
  Queue queue;
  queue.add_session(session(1), kGroup, 1, 0);
  queue.push_many(1, 3);
  queue.add_session(session(1), kOther, 2, 1);
  EXPECT_EQ(queue.FairQueue::size(kGroup), 0u);
  EXPECT_EQ(queue.FairQueue::size(kOther), 3u);
  const uint32_t first[] = {kGroup}, second[] = {kOther};
  EXPECT_FALSE(queue.next(first));
  EXPECT_TRUE(queue.next(second));
}

}  // namespace
}  // namespace hone::tracker
