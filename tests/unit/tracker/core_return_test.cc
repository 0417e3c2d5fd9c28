// Peers that go and come back: sessions, agents, and the Tracker itself.
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

TEST(Tracker, ASessionThatReturnsWithinTheGraceFindsItsJobsAndResults) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  const auto lease = fleet.leases(a).at(0);
  fleet.tracker->session_gone(session);
  fleet.finish(a, lease);
  fleet.pass(59s);
  const auto again = fleet.open(kSession);
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(again).at(0).known, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(fleet.results(again).at(0).seq, 1u);
}

// A network that comes back may deliver an old connection's messages after the new one's.
TEST(Tracker, ASessionThatWasOpenedAgainMayComeBack) {
  FakeFleet fleet;
  const ConnectionId live = fleet.open(kSession);
  fleet.submit(live, 1);
  const ConnectionId late = fleet.open(kSession);
  const auto refused = fleet.take_session<wire::Refused>(live);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(refused[0].retry) << "or the tuner would end";
  fleet.tracker->session_gone(late);
  const ConnectionId back = fleet.open(kSession);
  const auto opened = fleet.take_session<wire::SessionOpened>(back);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].known, std::vector<uint64_t>{1});
}

TEST(Tracker, ASessionThatStaysAwayIsDroppedWithItsLeases) {
  FakeFleet fleet({.lease = 100s});
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  const auto lease = fleet.leases(a).at(0);
  fleet.tracker->session_gone(session);
  fleet.pass(60s);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  EXPECT_TRUE(fleet.tracker->status().sessions.empty());
  EXPECT_EQ(fleet.state("a/cpu"), "idle");
}

TEST(Tracker, ClosingDropsASessionAtOnce) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto lease = fleet.leases(a).at(0);
  fleet.tracker->session_message(session, wire::SessionClose{"done"});
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  EXPECT_TRUE(fleet.tracker->status().sessions.empty());
}

TEST(Tracker, AnAgentThatReconnectsKeepsWhatItHolds) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const auto a = fleet.connect(hello);
  fleet.want(a, "a", 2);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  const auto leases = fleet.leases(a);
  fleet.tracker->agent_gone(a);
  EXPECT_EQ(fleet.state("a/cpu"), "lost");
  fleet.pass(9s);
  hello.held = {leases[0].id};  // the other was lost on its way
  hello.held_devices = {"a/cpu"};
  const auto again = fleet.connect(hello);
  EXPECT_TRUE(fleet.take_agent<wire::AgentWelcome>(again).at(0).forget.empty());
  fleet.want(again, "a", 1);
  const auto fresh = fleet.leases(again);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].id.seq, leases[1].id.seq);
  fleet.finish(again, leases[0]);
  fleet.finish(again, fresh[0]);
  const auto results = fleet.results(session);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].attempts, 1u) << "nobody is to blame for a lost message";
}

// No session would ever miss its answer: a device's work is only checked while the device is connected.
TEST(Tracker, ALeaseDoesNotOutliveItsDevice) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  hello.devices.push_back(FakeFleet::device("a/cpu1"));
  const auto a = fleet.connect(hello);
  fleet.tracker->agent_message(a, wire::Want{"a/cpu1", 1});
  fleet.submit(fleet.open(kSession), 1);
  const auto lease = fleet.leases(a).at(0);
  fleet.tracker->agent_gone(a);
  hello.devices.pop_back();
  hello.held = {lease.id};
  hello.held_devices = {"a/cpu1"};
  const auto fewer = fleet.connect(hello);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(fewer).at(0).forget, std::vector{lease.id});
  EXPECT_EQ(fleet.tracker->counts().unfinished_leases, 0u);
  fleet.want(fewer, "a", 1);
  EXPECT_EQ(fleet.leases(fewer).at(0).id.seq, 1u) << "the job goes elsewhere";
}

TEST(Tracker, ARestartedAgentLosesItsLeasesAtOnce) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 1);
  fleet.submit(fleet.open(kSession), 1);
  const auto old = fleet.leases(a).at(0);
  fleet.tracker->agent_gone(a);
  auto hello = fleet.hello("a");
  hello.held = {old.id};
  hello.held_devices = {"a/cpu"};
  const auto again = fleet.connect(hello);
  fleet.want(again, "a", 1);
  EXPECT_EQ(fleet.leases(again).at(0).id.seq, 1u);
}

TEST(Tracker, ADisconnectedAgentsLeasesGoToOthersAfterTheGrace) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 1);
  fleet.submit(fleet.open(kSession), 1);
  fleet.leases(a);
  fleet.tracker->agent_gone(a);
  const auto b = fleet.agent("b", 1);
  fleet.pass(9s);
  EXPECT_TRUE(fleet.leases(b).empty());
  fleet.pass(1s);
  EXPECT_EQ(fleet.leases(b).size(), 1u);
}

TEST(Tracker, ASilentAgentsNameCanBeTakenOver) {
  FakeFleet fleet;
  const auto old = fleet.agent("a");
  fleet.clock.advance(14s);
  const auto early = fleet.agent("a");
  EXPECT_EQ(fleet.take_agent<wire::Refused>(early).size(), 1u) << "an idle agent beats seldom";
  fleet.clock.advance(1s);
  const auto fresh = fleet.agent("a", 1);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(fresh).size(), 1u);
  EXPECT_EQ(fleet.take_agent<wire::Refused>(old).size(), 1u);
}

TEST(Tracker, AfterARestartHeldLeasesAreAdoptedWhenTheSessionComesSecond) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const auto a = fleet.connect(hello);
  fleet.want(a, "a", 2);
  fleet.submit(fleet.open(kSession), 1, 2);
  const auto leases = fleet.leases(a);
  fleet.restart();
  hello.held = {leases[0].id, leases[1].id};
  hello.held_devices = {"a/cpu", "a/cpu"};
  const auto a2 = fleet.connect(hello);
  EXPECT_TRUE(fleet.take_agent<wire::AgentWelcome>(a2).at(0).forget.empty());
  fleet.finish(a2, leases[1]);  // a result before anybody claimed it
  fleet.want(a2, "a", 4);
  fleet.tracker->agent_message(a2, wire::Heartbeat{{leases[0].id}});
  EXPECT_TRUE(fleet.ids<wire::Cancel>(a2).empty());
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  EXPECT_TRUE(fleet.leases(a2).empty()) << "nothing is measured twice";
  EXPECT_EQ(fleet.results(session).at(0).seq, leases[1].id.seq);
  fleet.finish(a2, leases[0]);
  EXPECT_EQ(fleet.results(session).at(0).seq, leases[0].id.seq);
  fleet.tracker->session_message(session, wire::SessionAck{{1, 2}});
  EXPECT_EQ(fleet.ids<wire::ResultAck>(a2).size(), 2u);
}

TEST(Tracker, AfterARestartHeldLeasesAreAdoptedWhenTheSessionComesFirst) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const auto a = fleet.connect(hello);
  fleet.want(a, "a", 1);
  fleet.submit(fleet.open(kSession), 1);
  const auto lease = fleet.leases(a).at(0);
  fleet.restart();
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  hello.held = {lease.id};
  hello.held_devices = {"a/cpu"};
  const auto a2 = fleet.connect(hello);
  fleet.want(a2, "a", 4);
  EXPECT_TRUE(fleet.leases(a2).empty());
  fleet.finish(a2, lease);
  EXPECT_EQ(fleet.results(session).size(), 1u);
  EXPECT_EQ(fleet.tracker->counts().adopted, 1u);
}

TEST(Tracker, WhatNobodyClaimsIsDroppedAfterTheGrace) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const wire::LeaseId working{kSession, 1, 5}, done{kSession, 2, 6};
  hello.held = {working, done};
  hello.held_devices = {"a/cpu", "a/cpu"};
  const auto a = fleet.connect(hello);
  fleet.tracker->agent_message(a, wire::AgentResults{{FakeFleet::result(done, "a/cpu")}, {done}});
  EXPECT_TRUE(fleet.ids<wire::ResultAck>(a).empty());
  fleet.pass(60s);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{working});
  EXPECT_EQ(fleet.ids<wire::ResultAck>(a), std::vector{done});
}

// An agent must not raise the epochs beyond those that later runs of the tracker begin with, nor take jobs that are not
// for its devices.
TEST(Adoption, TakesNothingThatAnEarlierRunCannotHaveGranted) {
  FakeFleet fleet;
  wire::SessionOpen open;
  open.session = kSession;
  open.target_kind = "llvm";
  open.device_key = "good";
  const auto session = fleet.open_as(open);
  fleet.submit(session, 1, 2);
  auto hello = fleet.hello("forger");
  hello.held = {{kSession, 1, 5}};
  hello.held_devices = {"forger/cpu"};
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(fleet.connect(hello)).at(0).forget.size(), 1u) << "not for its device";
  hello = fleet.hello("good");
  hello.held = {{kSession, 1, UINT64_MAX}, {kSession, 2, 5}};
  hello.held_devices = {"good/cpu", "good/cpu"};
  const auto good = fleet.connect(hello);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(good).at(0).forget,
            (std::vector<wire::LeaseId>{{kSession, 1, UINT64_MAX}}));
  fleet.want(good, "good", 1);
  EXPECT_LT(fleet.leases(good).at(0).id.epoch, uint64_t{1} << 62);
  EXPECT_EQ(fleet.tracker->counts().adopted, 1u);
}

}  // namespace
}  // namespace hone::tracker
