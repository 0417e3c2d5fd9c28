// Leases through the Tracker: how they are extended, how they are lost, and how they move to other devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using wire::ResultStatus;

TEST(Tracker, ASilentAgentsLeaseGoesToAnotherAndItsLateResultIsDropped) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto old = fleet.leases(a).at(0);
  const auto b = fleet.agent("b", 1);
  fleet.pass(15s);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{old.id});
  const auto fresh = fleet.leases(b).at(0);
  EXPECT_GT(fresh.id.epoch, old.id.epoch);
  fleet.finish(a, old);
  EXPECT_TRUE(fleet.results(session).empty());
  EXPECT_EQ(fleet.ids<wire::ResultAck>(a), std::vector{old.id}) << "it may forget it";
  fleet.finish(b, fresh);
  EXPECT_EQ(fleet.results(session).at(0).attempts, 2u);
  EXPECT_EQ(fleet.tracker->counts().stale, 1u);
}

TEST(Tracker, HeartbeatsKeepALeaseAndUnknownOnesAreCancelled) {
  FakeFleet fleet;
  const auto agent = fleet.agent("a", 1);
  fleet.submit(fleet.open(kSession), 1);
  const auto lease = fleet.leases(agent).at(0);
  for (int i = 0; i < 5; ++i) {
    fleet.pass(10s);
    fleet.tracker->agent_message(agent, wire::Heartbeat{{lease.id}});
  }
  EXPECT_EQ(fleet.tracker->counts().expired, 0u);
  const wire::LeaseId unknown{kSession, 1, lease.id.epoch + 5};
  fleet.tracker->agent_message(agent, wire::Heartbeat{{unknown}});
  EXPECT_EQ(fleet.ids<wire::Cancel>(agent), std::vector{unknown});
}

TEST(Tracker, ADeviceThatHeartbeatsButNeverAnswersLosesItsLease) {
  FakeFleet fleet;
  const auto agent = fleet.agent("a", 1);
  fleet.submit(fleet.open(kSession), 1);
  const auto lease = fleet.leases(agent).at(0);
  for (int i = 0; i < 7; ++i) {  // the budget of a fake job: 60 s
    fleet.pass(10s);
    fleet.tracker->agent_message(agent, wire::Heartbeat{{lease.id}});
  }
  EXPECT_EQ(fleet.tracker->counts().expired, 1u);
}

TEST(Tracker, ADeviceThatAnswersAllButOneJobLosesThatOne) {
  FakeFleet fleet;
  const auto agent = fleet.agent("a", 2);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  auto held = fleet.leases(agent);
  ASSERT_EQ(held.size(), 2u);
  const wire::LeaseId kept = held[0].id;
  wire::Lease other = held[1];
  for (uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(fleet.tracker->counts().expired, 0u) << i;
    fleet.finish(agent, other);
    fleet.want(agent, "a", 1);
    fleet.submit(session, 10 + i);
    other = fleet.leases(agent).at(0);
    fleet.tracker->agent_message(agent, wire::Heartbeat{{kept, other.id}, {}});
    fleet.pass(5s);
  }
  EXPECT_EQ(fleet.tracker->counts().expired, 1u) << "it was the first, and had its 60 s";
  EXPECT_EQ(fleet.ids<wire::Cancel>(agent), std::vector{kept});
}

TEST(Tracker, AfterThreeLostLeasesTheJobIsDeviceLost) {
  FakeFleet fleet({.health = {.strikes = 100}});
  const auto session = fleet.open(kSession);
  const auto agent = fleet.agent("a", 8);
  fleet.submit(session, 1);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(fleet.leases(agent).size(), 1u) << attempt;
    EXPECT_TRUE(fleet.results(session).empty());
    fleet.pass(15s);
  }
  EXPECT_TRUE(fleet.leases(agent).empty());
  const auto results = fleet.results(session);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].candidates.at(0).status, ResultStatus::kDeviceLost);
  EXPECT_EQ(results[0].attempts, 3u);
  EXPECT_FALSE(results[0].candidates[0].message.empty());
}

TEST(Tracker, AnotherDeviceIsPreferredAfterALoss) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  const auto b = fleet.agent("b");  // there, but with nothing wanted yet
  fleet.submit(session, 1);
  fleet.finish(a, fleet.leases(a).at(0), ResultStatus::kDeviceLost);
  EXPECT_TRUE(fleet.leases(a).empty()) << "it waits for the other device";
  fleet.want(b, "b", 1);
  const auto lease = fleet.leases(b).at(0);
  fleet.finish(b, lease);
  EXPECT_EQ(fleet.results(session).at(0).candidates.at(0).status, ResultStatus::kOk);
}

TEST(Tracker, ALossThatLeavesOneDeviceIsTriedThereAgain) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.submit(session, 1);
  fleet.finish(a, fleet.leases(a).at(0), ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet.leases(a).size(), 1u);
}

TEST(Retry, AJobDoesNotWaitForEverForADeviceThatNeverAsks) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.agent("b");  // usable, but wants nothing
  fleet.submit(session, 1);
  fleet.finish(a, fleet.leases(a).at(0), ResultStatus::kDeviceLost);
  EXPECT_TRUE(fleet.leases(a).empty());
  fleet.pass(15s);
  EXPECT_EQ(fleet.leases(a).size(), 1u);
}

TEST(Tracker, DrainStopsLeasesAndAsksForTheUnstarted) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 4);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  const auto leases = fleet.leases(a);
  ASSERT_TRUE(fleet.tracker->admin("drain", "a/cpu").ok());
  EXPECT_EQ(fleet.ids<wire::TakeBack>(a).size(), 2u);
  fleet.submit(session, 3);
  EXPECT_TRUE(fleet.leases(a).empty());
  EXPECT_EQ(fleet.state("a/cpu"), "draining");
  EXPECT_FALSE(fleet.tracker->admin("drain", "nobody").ok());
  EXPECT_FALSE(fleet.tracker->admin("explode", "a").ok());
}

TEST(Tracker, UnstartedLeasesMoveFromASlowDeviceToAnIdleOne) {
  FakeFleet fleet;
  const auto slow = fleet.agent("slow", 8);
  fleet.submit(fleet.open(kSession), 1, 8);
  const auto held = fleet.leases(slow);
  ASSERT_EQ(held.size(), 8u);
  const auto fast = fleet.agent("fast", 8);
  fleet.tracker->tick();
  const auto asked = fleet.ids<wire::TakeBack>(slow);
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked.back(), held.back().id) << "the newest";
  fleet.tracker->tick();
  for (const auto& id : fleet.ids<wire::TakeBack>(slow))
    EXPECT_THAT(asked, testing::Not(testing::Contains(id))) << "never the same again";
  fleet.tracker->agent_message(slow, wire::GiveBack{asked, "taken back"});
  const auto moved = fleet.leases(fast);
  ASSERT_EQ(moved.size(), 4u);
  fleet.finish(fast, moved[0]);
  EXPECT_EQ(fleet.tracker->counts().expired, 0u);
}

TEST(Tracker, TheLastLeaseOfADeviceIsNotAskedBack) {
  FakeFleet fleet;
  const auto slow = fleet.agent("slow", 1);
  fleet.submit(fleet.open(kSession), 1);
  fleet.leases(slow);
  fleet.agent("fast", 8);
  fleet.tracker->tick();
  EXPECT_TRUE(fleet.ids<wire::TakeBack>(slow).empty());
}

TEST(Tracker, AnAgentGivesBackOnlyWhatItHolds) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const wire::LeaseId working{kSession, 1, 5};
  hello.held = {working};
  hello.held_devices = {"a/cpu"};
  const auto a = fleet.connect(hello), b = fleet.agent("b");
  fleet.tracker->agent_message(b, wire::GiveBack{{working}, "not its own"});
  fleet.submit(fleet.open(kSession), 1);
  EXPECT_EQ(fleet.tracker->counts().adopted, 1u) << "a's is still there";
  fleet.tracker->agent_message(b, wire::GiveBack{{working}, "not its own"});
  fleet.finish(a, {working, "a/cpu", {}});
  EXPECT_EQ(fleet.tracker->status().results.at("ok"), 1u);
}

}  // namespace
}  // namespace hone::tracker
