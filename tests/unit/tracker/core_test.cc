#include "tracker/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using wire::ResultStatus;
using wire::Uuid;

const Uuid kSession = Uuid::random();

TEST(Matching, AKeyIsADeviceAnAgentOrALabel) {
  Device device;
  device.info = Fleet::device("board/cpu", "llvm -mcpu=a72");
  device.info.labels = {{"room", "lab"}};
  device.agent = "board";
  wire::SessionOpen open;
  open.target_kind = "llvm";
  for (const char* key : {"", "board/cpu", "board", "room=lab"}) {
    open.device_key = key;
    EXPECT_TRUE(matches(open, device)) << key;
  }
  for (const char* key : {"board/cuda0", "boar", "room=attic", "room", "floor=1"}) {
    open.device_key = key;
    EXPECT_FALSE(matches(open, device)) << key;
  }
  open.device_key = "";
  open.target = "llvm -mcpu=a72";
  EXPECT_TRUE(matches(open, device));
  open.target = "llvm -mcpu=a53";
  EXPECT_FALSE(matches(open, device));
  open.target = "";
  open.target_kind = "cuda";
  EXPECT_FALSE(matches(open, device));
}

TEST(Tracker, AJobGoesToAWaitingDeviceAndItsResultToTheSession) {
  Fleet fleet;
  const auto agent = fleet.agent("a", 2);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto leases = fleet.leases(agent);
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0].device, "a/cpu");
  EXPECT_EQ(fleet.state("a/cpu"), "busy");
  fleet.finish(agent, leases[0]);
  const auto results = fleet.results(session);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].seq, 1u);
  EXPECT_EQ(results[0].attempts, 1u);
  EXPECT_EQ(results[0].device, "a/cpu");
  EXPECT_EQ(fleet.state("a/cpu"), "idle");
}

TEST(Tracker, AResultIsAcknowledgedToTheAgentOnceTheSessionHasCommittedIt) {
  Fleet fleet;
  const auto agent = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto lease = fleet.leases(agent).at(0);
  fleet.finish(agent, lease);
  EXPECT_TRUE(fleet.ids<wire::ResultAck>(agent).empty());
  fleet.tracker->session_message(session, wire::SessionAck{{1}});
  EXPECT_EQ(fleet.ids<wire::ResultAck>(agent), std::vector{lease.id});
}

TEST(Tracker, TheQueueTimeIsThatOfTheQueueAlone) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  fleet.clock.advance(3s);
  const auto agent = fleet.agent("a", 1);
  const auto lease = fleet.leases(agent).at(0);
  fleet.clock.advance(5s);
  fleet.finish(agent, lease);
  EXPECT_NEAR(fleet.results(session).at(0).phases.queue, 3, 1e-9);
}

TEST(Tracker, FewJobsSpreadOverTheWaitingDevices) {
  Fleet fleet;
  const auto a = fleet.agent("a", 8), b = fleet.agent("b", 8);
  fleet.submit(fleet.open(kSession), 1, 6);
  EXPECT_EQ(fleet.leases(a).size(), 3u);
  EXPECT_EQ(fleet.leases(b).size(), 3u);
}

TEST(Tracker, SubmittingAgainChangesNothing) {
  Fleet fleet;
  const auto agent = fleet.agent("a", 8);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  fleet.submit(session, 1);
  EXPECT_EQ(fleet.leases(agent).size(), 1u);
}

TEST(Tracker, MoreJobsThanTheWindowAreRefused) {
  Fleet fleet({.window = 4});
  const auto session = fleet.open(kSession);
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(session).at(0).window, 4u);
  fleet.submit(session, 1, 4);
  EXPECT_TRUE(fleet.take_session<wire::Refused>(session).empty());
  fleet.submit(session, 5);
  EXPECT_FALSE(fleet.take_session<wire::Refused>(session).at(0).retry);
}

TEST(Tracker, ASilentAgentsLeaseGoesToAnotherAndItsLateResultIsDropped) {
  Fleet fleet;
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
  Fleet fleet;
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
  Fleet fleet;
  const auto agent = fleet.agent("a", 1);
  fleet.submit(fleet.open(kSession), 1);
  const auto lease = fleet.leases(agent).at(0);
  for (int i = 0; i < 7; ++i) {  // the budget of a fake job: 60 s
    fleet.pass(10s);
    fleet.tracker->agent_message(agent, wire::Heartbeat{{lease.id}});
  }
  EXPECT_EQ(fleet.tracker->counts().expired, 1u);
}

TEST(Tracker, AfterThreeLostLeasesTheJobIsDeviceLost) {
  Fleet fleet({.health = {.strikes = 100}});
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
  Fleet fleet;
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
  Fleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.submit(session, 1);
  fleet.finish(a, fleet.leases(a).at(0), ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet.leases(a).size(), 1u);
}

TEST(Tracker, ADeviceThatLosesLeasesInARowIsQuarantinedUntilResumed) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.submit(session, 1, 3);
  for (const auto& lease : fleet.leases(a)) fleet.finish(a, lease, ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet.state("a/cpu"), "quarantined");
  fleet.leases(a);
  fleet.submit(session, 10);
  fleet.tracker->tick();
  EXPECT_TRUE(fleet.leases(a).empty());
  EXPECT_TRUE(fleet.take_session<wire::Devices>(session).back().devices.empty()) << "the session knows";
  ASSERT_TRUE(fleet.tracker->admin("resume", "a").ok());
  EXPECT_FALSE(fleet.leases(a).empty());
}

TEST(Tracker, ADeviceThatFailsWhereOthersSucceedIsQuarantined) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  const auto good = fleet.agent("good", 100), bad = fleet.agent("bad", 100);
  fleet.submit(session, 1, 64);
  const auto fine = fleet.leases(good), broken = fleet.leases(bad);
  for (size_t i = 0; i < fine.size(); ++i) {
    fleet.finish(bad, broken[i], ResultStatus::kBuildFailed);
    fleet.finish(good, fine[i]);
  }
  EXPECT_EQ(fleet.state("bad/cpu"), "quarantined");
  EXPECT_EQ(fleet.state("good/cpu"), "idle");
}

TEST(Tracker, FailuresOfAllDevicesAreNoDevicesFault) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 100);
  fleet.submit(session, 1, 64);
  for (const auto& lease : fleet.leases(a)) fleet.finish(a, lease, ResultStatus::kWrongResult);
  EXPECT_EQ(fleet.state("a/cpu"), "idle");
}

TEST(Tracker, DrainStopsLeasesAndAsksForTheUnstarted) {
  Fleet fleet;
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
  Fleet fleet;
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
  for (const auto& id : fleet.ids<wire::TakeBack>(slow)) EXPECT_THAT(asked, testing::Not(testing::Contains(id))) << "never the same again";
  fleet.tracker->agent_message(slow, wire::GiveBack{asked, "taken back"});
  const auto moved = fleet.leases(fast);
  ASSERT_EQ(moved.size(), 4u);
  fleet.finish(fast, moved[0]);
  EXPECT_EQ(fleet.tracker->counts().expired, 0u);
}

TEST(Tracker, TheLastLeaseOfADeviceIsNotAskedBack) {
  Fleet fleet;
  const auto slow = fleet.agent("slow", 1);
  fleet.submit(fleet.open(kSession), 1);
  fleet.leases(slow);
  fleet.agent("fast", 8);
  fleet.tracker->tick();
  EXPECT_TRUE(fleet.ids<wire::TakeBack>(slow).empty());
}

TEST(Tracker, CancelIsImmediateQueuedOrLeased) {
  Fleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 2);
  const auto lease = fleet.leases(a).at(0);
  fleet.tracker->session_message(session, wire::CancelJobs{});
  const auto results = fleet.results(session);
  ASSERT_EQ(results.size(), 2u);
  for (const auto& result : results) EXPECT_EQ(result.candidates.at(0).status, ResultStatus::kCancelled);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  fleet.finish(a, lease);
  EXPECT_TRUE(fleet.results(session).empty()) << "one result a job";
}

TEST(Tracker, ASessionThatReturnsWithinTheGraceFindsItsJobsAndResults) {
  Fleet fleet;
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

// A network that comes back may deliver what an old connection said after what the new one did.
TEST(Tracker, ASessionThatWasOpenedAgainMayComeBack) {
  Fleet fleet;
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
  Fleet fleet({.lease = 100s});
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
  Fleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto lease = fleet.leases(a).at(0);
  fleet.tracker->session_message(session, wire::SessionClose{"done"});
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  EXPECT_TRUE(fleet.tracker->status().sessions.empty());
}

TEST(Tracker, AnAgentThatReconnectsKeepsWhatItHolds) {
  Fleet fleet;
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

TEST(Tracker, ARestartedAgentLosesItsLeasesAtOnce) {
  Fleet fleet;
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
  Fleet fleet;
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

TEST(Tracker, AfterARestartHeldLeasesAreAdoptedWhenTheSessionComesSecond) {
  Fleet fleet;
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
  Fleet fleet;
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
  Fleet fleet;
  auto hello = fleet.hello("a");
  const wire::LeaseId working{kSession, 1, 5}, done{kSession, 2, 6};
  hello.held = {working, done};
  hello.held_devices = {"a/cpu", "a/cpu"};
  const auto a = fleet.connect(hello);
  fleet.tracker->agent_message(a, wire::AgentResults{{Fleet::result(done, "a/cpu")}, {done}});
  EXPECT_TRUE(fleet.ids<wire::ResultAck>(a).empty());
  fleet.pass(60s);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{working});
  EXPECT_EQ(fleet.ids<wire::ResultAck>(a), std::vector{done});
}

TEST(Tracker, AResultSentTwiceIsDeliveredOnce) {
  Fleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto lease = fleet.leases(a).at(0);
  fleet.finish(a, lease);
  fleet.finish(a, lease);
  EXPECT_EQ(fleet.results(session).size(), 1u);
  EXPECT_EQ(fleet.tracker->status().results.at("ok"), 1u);
}

TEST(Tracker, AnswersOfTheWrongNumberOfCandidatesAreAFailure) {
  Fleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto lease = fleet.leases(a).at(0);
  auto result = Fleet::result(lease.id, "a/cpu");
  result.candidates.resize(3, result.candidates[0]);
  fleet.tracker->agent_message(a, wire::AgentResults{{result}, {lease.id}});
  const auto delivered = fleet.results(session).at(0);
  ASSERT_EQ(delivered.candidates.size(), 1u);
  EXPECT_EQ(delivered.candidates[0].status, ResultStatus::kRunFailed);
}

TEST(Tracker, SessionsAreToldWhenTheirDevicesChange) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  EXPECT_TRUE(fleet.take_session<wire::SessionOpened>(session).at(0).devices.empty());
  const auto a = fleet.agent("a");
  EXPECT_EQ(fleet.take_session<wire::Devices>(session).at(0).devices.at(0).key, "a/cpu");
  fleet.tracker->agent_gone(a);
  fleet.pass(5s);
  EXPECT_TRUE(fleet.take_session<wire::Devices>(session).empty()) << "a short absence is none";
  fleet.pass(5s);
  EXPECT_TRUE(fleet.take_session<wire::Devices>(session).at(0).devices.empty());
}

TEST(Tracker, RefusesWhatDoesNotFit) {
  Fleet fleet;
  auto hello = fleet.hello("a");
  hello.protocol = 99;
  EXPECT_FALSE(fleet.take_agent<wire::Refused>(fleet.connect(hello)).at(0).retry);
  hello = fleet.hello("a");
  hello.devices[0].key = "b/cpu";
  EXPECT_FALSE(fleet.take_agent<wire::Refused>(fleet.connect(hello)).at(0).retry);
  hello = fleet.hello("a=b");
  EXPECT_EQ(fleet.take_agent<wire::Refused>(fleet.connect(hello)).size(), 1u);
  fleet.agent("a");
  const auto other = fleet.connect(fleet.hello("a"));
  const auto refused = fleet.take_agent<wire::Refused>(other);
  ASSERT_EQ(refused.size(), 1u) << "the name is taken";
  EXPECT_TRUE(refused[0].retry);
  fleet.tracker->agent_message(500, wire::Want{"a/cpu", 1});
  EXPECT_EQ(fleet.take_agent<wire::Refused>(500).size(), 1u) << "hello comes first";
  fleet.tracker->session_message(501, wire::SessionAck{{1}});
  EXPECT_EQ(fleet.take_session<wire::Refused>(501).size(), 1u) << "open comes first";
}

TEST(Tracker, ASilentAgentsNameCanBeTakenOver) {
  Fleet fleet;
  const auto old = fleet.agent("a");
  fleet.clock.advance(14s);
  const auto early = fleet.agent("a");
  EXPECT_EQ(fleet.take_agent<wire::Refused>(early).size(), 1u) << "an idle agent beats seldom";
  fleet.clock.advance(1s);
  const auto fresh = fleet.agent("a", 1);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(fresh).size(), 1u);
  EXPECT_EQ(fleet.take_agent<wire::Refused>(old).size(), 1u);
}

TEST(Tracker, BlobsComeFromTheSessionOnceAndFromTheStoreAfterwards) {
  Fleet fleet;
  const auto a = fleet.agent("a", 1), b = fleet.agent("b", 1);
  const auto session = fleet.open(kSession);
  const std::string data = "a module";
  const Hash128 hash = hash_bytes(data), unknown = hash_bytes("nobody's");
  wire::Submit submit;
  for (const uint64_t seq : {1, 2}) {
    wire::Job job;
    job.seq = seq;
    job.modules = {hash};
    submit.jobs.push_back(job);
  }
  fleet.tracker->session_message(session, submit);
  fleet.tracker->agent_message(a, wire::BlobRequest{{hash, unknown}});
  EXPECT_EQ(fleet.take_session<wire::BlobRequest>(session).at(0).hashes, std::vector{hash});
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).missing, std::vector{unknown});
  fleet.tracker->agent_message(b, wire::BlobRequest{{hash}});
  EXPECT_TRUE(fleet.take_session<wire::BlobRequest>(session).empty()) << "already asked";
  fleet.tracker->session_message(session, wire::Blobs{{{hash, data}}, {}});
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).blobs.at(0).data, data);
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(b).at(0).blobs.at(0).data, data);
  fleet.tracker->agent_message(a, wire::BlobRequest{{hash}});
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).blobs.at(0).data, data);
  EXPECT_TRUE(fleet.take_session<wire::BlobRequest>(session).empty());
}

TEST(Tracker, ABlobIsAskedForAgainWhenTheSessionReturnsAndMissingInTheEnd) {
  Fleet fleet({.lease = 1000s});
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  const Hash128 hash = hash_bytes("x");
  wire::Job job;
  job.seq = 1;
  job.modules = {hash};
  fleet.tracker->session_message(session, wire::Submit{{job}});
  fleet.tracker->session_gone(session);
  fleet.tracker->agent_message(a, wire::BlobRequest{{hash}});
  const auto again = fleet.open(kSession);
  EXPECT_EQ(fleet.take_session<wire::BlobRequest>(again).at(0).hashes, std::vector{hash});
  fleet.pass(30s);
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).missing, std::vector{hash});
}

TEST(Tracker, OnlyTheSessionThatWasAskedSaysThatABlobIsMissing) {
  Fleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession), other = fleet.open(Uuid::random());
  const Hash128 hash = hash_bytes("x");
  wire::Job job;
  job.seq = 1;
  job.modules = {hash};
  fleet.tracker->session_message(session, wire::Submit{{job}});
  fleet.tracker->agent_message(a, wire::BlobRequest{{hash}});
  fleet.tracker->session_message(other, wire::Blobs{{}, {hash}});
  EXPECT_TRUE(fleet.take_agent<wire::Blobs>(a).empty());
  fleet.tracker->session_message(session, wire::Blobs{{{hash, "x"}}, {}});
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).blobs.at(0).data, "x");
}

TEST(Tracker, AnAgentGivesBackOnlyWhatItHolds) {
  Fleet fleet;
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

TEST(Tracker, AnAgentThatWantsLeasesForAnothersDeviceIsRefused) {
  Fleet fleet;
  fleet.agent("a");
  const auto b = fleet.agent("b");
  fleet.want(b, "a", 1);
  EXPECT_TRUE(fleet.take_agent<wire::Refused>(b).at(0).retry);
  EXPECT_EQ(fleet.state("b/cpu"), "lost");
}

TEST(Tracker, ManyLeasesAreGrantedPerSecond) {
  Fleet fleet;
  const auto a = fleet.agent("a", 64);
  const auto session = fleet.open(kSession);
  uint64_t seq = 1;
  constexpr uint64_t kJobs = 20000;
  fleet.submit(session, seq, 64);
  for (seq = 65; fleet.tracker->counts().leases < kJobs;) {
    for (const auto& lease : fleet.leases(a)) {
      fleet.finish(a, lease);
      fleet.tracker->session_message(session, wire::SessionAck{{lease.id.seq}});
      fleet.want(a, "a", 1);
      fleet.submit(session, seq++);
    }
    fleet.ids<wire::ResultAck>(a);
    fleet.results(session);
  }
  EXPECT_EQ(fleet.tracker->status().results.at("ok"), seq - 65);
}

}  // namespace
}  // namespace hone::tracker
