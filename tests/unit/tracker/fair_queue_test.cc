#include "tracker/fair_queue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <queue>
#include <random>

namespace hone::tracker {
namespace {

const auto kAnySession = [](const wire::Uuid&) { return true; };
const auto kAnyJob = [](const JobKey&) { return true; };

wire::Uuid session(uint8_t n) {
  wire::Uuid uuid;
  uuid.value[0] = n;
  return uuid;
}

// Sessions that always have jobs queued, on devices of different speed; device seconds used, by session.
std::map<wire::Uuid, double> simulate(const std::map<wire::Uuid, double>& weights, const std::map<wire::Uuid, double>& job_costs,
                                      const std::vector<double>& speeds, double until, uint32_t batch) {
  FairQueue queue(0.5);
  std::mt19937_64 random(3);
  uint64_t next_seq = 0;
  for (const auto& [uuid, weight] : weights) queue.add_session(uuid, weight, 0);
  struct Done {
    double at;
    size_t device;
    FairQueue::Picked picked;
    double cost;
    bool operator>(const Done& other) const { return at > other.at; }
  };
  std::priority_queue<Done, std::vector<Done>, std::greater<>> running;
  std::map<wire::Uuid, double> used;
  const auto top_up = [&] {
    for (const auto& [uuid, weight] : weights)
      while (queue.size(uuid) < 32) queue.push({uuid, next_seq++});
  };
  std::vector<double> busy_until(speeds.size(), 0.0);
  const auto lease = [&](size_t device) {
    top_up();
    const auto picked = queue.pick(kAnySession, kAnyJob);
    ASSERT_TRUE(picked.has_value());
    const double cost = job_costs.at(picked->job.session) / speeds[device] * std::uniform_real_distribution<>(0.5, 1.5)(random);
    busy_until[device] += cost;
    running.push({busy_until[device], device, *picked, cost});
  };
  for (size_t device = 0; device < speeds.size(); ++device)
    for (uint32_t i = 0; i < batch; ++i) lease(device);
  while (running.top().at < until) {
    const Done done = running.top();
    running.pop();
    used[done.picked.job.session] += done.cost;
    queue.settle(done.picked.job.session, done.picked.estimate, done.cost, true);
    lease(done.device);
  }
  return used;
}

TEST(FairQueue, DeviceSecondsFollowTheWeightsOnDevicesOfDifferentSpeed) {
  const std::map<wire::Uuid, double> weights = {{session(1), 1}, {session(2), 2}, {session(3), 1}};
  const std::map<wire::Uuid, double> costs = {{session(1), 0.05}, {session(2), 0.4}, {session(3), 1.5}};
  auto used = simulate(weights, costs, {1, 1, 3, 10, 0.3}, 500, 8);
  double total = 0;
  for (const auto& [uuid, seconds] : used) total += seconds;
  EXPECT_NEAR(used[session(1)] / total, 0.25, 0.05 * 0.25);
  EXPECT_NEAR(used[session(2)] / total, 0.50, 0.05 * 0.50);
  EXPECT_NEAR(used[session(3)] / total, 0.25, 0.05 * 0.25);
}

TEST(FairQueue, ALateComerSharesFromThenOnAndIsNotPaidForTheTimeBefore) {
  FairQueue queue(0.5);
  uint64_t seq = 0;
  const auto run = [&](int jobs, std::map<wire::Uuid, int>* counts) {
    for (int i = 0; i < jobs; ++i) {
      const auto picked = queue.pick(kAnySession, kAnyJob);
      ++(*counts)[picked->job.session];
      queue.settle(picked->job.session, picked->estimate, 0.1, true);
      queue.push({picked->job.session, seq++});
    }
  };
  std::map<wire::Uuid, int> before, after;
  queue.add_session(session(1), 1, 0);
  for (int i = 0; i < 8; ++i) queue.push({session(1), seq++});
  run(1000, &before);
  queue.add_session(session(2), 1, 0);
  for (int i = 0; i < 8; ++i) queue.push({session(2), seq++});
  run(1000, &after);
  EXPECT_EQ(before[session(1)], 1000);
  EXPECT_NEAR(after[session(1)], 500, 25);
  EXPECT_NEAR(after[session(2)], 500, 25);
}

TEST(FairQueue, AnIdleSessionSavesNothingUp) {
  FairQueue queue(0.5);
  queue.add_session(session(1), 1, 0);
  queue.add_session(session(2), 1, 0);
  uint64_t seq = 0;
  for (int i = 0; i < 500; ++i) {  // session 2 has no jobs
    queue.push({session(1), seq++});
    const auto picked = queue.pick(kAnySession, kAnyJob);
    queue.settle(picked->job.session, picked->estimate, 1, true);
  }
  int first = 0;
  for (int i = 0; i < 100; ++i) {
    queue.push({session(1), seq++});
    queue.push({session(2), seq++});
  }
  for (int i = 0; i < 100; ++i) {
    const auto picked = queue.pick(kAnySession, kAnyJob);
    first += picked->job.session == session(1);
    queue.settle(picked->job.session, picked->estimate, 1, true);
  }
  EXPECT_NEAR(first, 50, 5);
}

TEST(FairQueue, AHigherPriorityGoesFirst) {
  FairQueue queue(0.5);
  queue.add_session(session(1), 100, 0);
  queue.add_session(session(2), 1, 5);
  for (uint64_t i = 0; i < 5; ++i) queue.push({session(1), i}), queue.push({session(2), i});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.pick(kAnySession, kAnyJob)->job.session, session(2));
  EXPECT_EQ(queue.pick(kAnySession, kAnyJob)->job.session, session(1));
}

TEST(FairQueue, KeepsTheOrderWithinASessionAndPassesOverWhatIsNotAllowed) {
  FairQueue queue(0.5);
  queue.add_session(session(1), 1, 0);
  for (uint64_t i = 1; i <= 3; ++i) queue.push({session(1), i});
  queue.push({session(1), 9}, /*at_front=*/true);
  const auto not_nine = [](const JobKey& key) { return key.seq != 9; };
  EXPECT_EQ(queue.pick(kAnySession, not_nine)->job.seq, 1u);
  EXPECT_EQ(queue.pick(kAnySession, kAnyJob)->job.seq, 9u);
  EXPECT_TRUE(queue.erase({session(1), 2}));
  EXPECT_FALSE(queue.erase({session(1), 2}));
  EXPECT_EQ(queue.pick(kAnySession, kAnyJob)->job.seq, 3u);
  EXPECT_FALSE(queue.pick(kAnySession, kAnyJob));
}

TEST(FairQueue, WhoeverAsksGetsAJobHoweverDeepInDebtTheSessionIs) {
  FairQueue queue(0.5);
  queue.add_session(session(1), 0.001, 0);
  queue.push({session(1), 1});
  queue.push({session(1), 2});
  queue.settle(session(1), 0, 1e6, true);
  EXPECT_TRUE(queue.pick(kAnySession, kAnyJob));
  EXPECT_TRUE(queue.pick(kAnySession, kAnyJob));
  queue.push({session(1), 3});
  queue.remove_session(session(1));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.pick(kAnySession, kAnyJob));
}

}  // namespace
}  // namespace hone::tracker
