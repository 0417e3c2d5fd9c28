// The life of a job through the Tracker when nothing goes wrong, and refusals.
#include "tracker/core.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using wire::ResultStatus;
using wire::Uuid;

TEST(Tracker, AJobGoesToAWaitingDeviceAndItsResultToTheSession) {
  FakeFleet fleet;
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
  FakeFleet fleet;
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
  FakeFleet fleet;
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
  FakeFleet fleet;
  const auto a = fleet.agent("a", 8), b = fleet.agent("b", 8);
  fleet.submit(fleet.open(kSession), 1, 6);
  EXPECT_EQ(fleet.leases(a).size(), 3u);
  EXPECT_EQ(fleet.leases(b).size(), 3u);
}

TEST(Tracker, SubmittingAgainChangesNothing) {
  FakeFleet fleet;
  const auto agent = fleet.agent("a", 8);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  fleet.submit(session, 1);
  EXPECT_EQ(fleet.leases(agent).size(), 1u);
}

TEST(Tracker, JobsComeBackWithTheirOwnReferenceThoughItIsKeptOnce) {
  FakeFleet fleet;
  const auto a = fleet.agent("a", 8);
  const auto session = fleet.open(kSession);
  wire::Submit submit;
  for (uint64_t seq = 1; seq <= 6; ++seq) {
    wire::Job job = FakeFleet::job(seq);
    job.reference = wire::Reference{};
    job.reference->module_hash = hash_bytes("r");
    job.reference->seed = seq % 2;
    job.reference->samples = {{1, 2, 3}};
    submit.jobs.push_back(job);
  }
  const auto sent = submit.jobs;
  fleet.tracker->session_message(session, submit);
  const auto leases = fleet.leases(a);
  ASSERT_EQ(leases.size(), 6u);
  for (const auto& lease : leases) EXPECT_EQ(lease.job, sent.at(lease.id.seq - 1));
}

TEST(Tracker, MoreJobsThanTheWindowAreRefused) {
  FakeFleet fleet({.window = 4});
  const auto session = fleet.open(kSession);
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(session).at(0).window, 4u);
  fleet.submit(session, 1, 4);
  EXPECT_TRUE(fleet.take_session<wire::Refused>(session).empty());
  fleet.submit(session, 5);
  EXPECT_FALSE(fleet.take_session<wire::Refused>(session).at(0).retry);
}

TEST(Tracker, CancelIsImmediateQueuedOrLeased) {
  FakeFleet fleet;
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

TEST(Tracker, AResultSentTwiceIsDeliveredOnce) {
  FakeFleet fleet;
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
  FakeFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1);
  const auto lease = fleet.leases(a).at(0);
  auto result = FakeFleet::result(lease.id, "a/cpu");
  result.candidates.resize(3, result.candidates[0]);
  fleet.tracker->agent_message(a, wire::AgentResults{{result}, {lease.id}});
  const auto delivered = fleet.results(session).at(0);
  ASSERT_EQ(delivered.candidates.size(), 1u);
  EXPECT_EQ(delivered.candidates[0].status, ResultStatus::kRunFailed);
}

TEST(Tracker, RefusesWhatDoesNotFit) {
  FakeFleet fleet;
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

TEST(Tracker, AnAgentThatWantsLeasesForAnothersDeviceIsRefused) {
  FakeFleet fleet;
  fleet.agent("a");
  const auto b = fleet.agent("b");
  fleet.want(b, "a", 1);
  EXPECT_TRUE(fleet.take_agent<wire::Refused>(b).at(0).retry);
  EXPECT_EQ(fleet.state("b/cpu"), "lost");
}

TEST(Tracker, ThousandsOfJobsOneAfterTheOtherAreEachDoneOnce) {
  FakeFleet fleet;
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
