// Modules on their way from sessions to agents, through the Tracker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::ResultStatus;

wire::Job job_of(uint64_t seq, std::vector<Hash128> modules) {
  wire::Job job;
  job.seq = seq;
  job.modules = std::move(modules);
  return job;
}

class BlobsFleet : public FakeFleet {
 public:
  using FakeFleet::FakeFleet;
  void submit(ConnectionId session, std::vector<wire::Job> jobs) {
    tracker->session_message(session, wire::Submit{std::move(jobs)});
  }
  void send(ConnectionId session, const std::string& data) {
    tracker->session_message(session, wire::Blobs{{{hash_bytes(data), data}}, {}});
  }
  void lack(ConnectionId session, const Hash128& hash) { tracker->session_message(session, wire::Blobs{{}, {hash}}); }
  void want_blob(ConnectionId agent, const Hash128& hash) { tracker->agent_message(agent, wire::BlobRequest{{hash}}); }
  /// The blobs that the session was asked for since the last call.
  std::vector<Hash128> asked(ConnectionId session) {
    std::vector<Hash128> all;
    for (const auto& request : take_session<wire::BlobRequest>(session))
      all.insert(all.end(), request.hashes.begin(), request.hashes.end());
    return all;
  }
  /// Blobs that the agent was told are nowhere.
  std::vector<Hash128> missing(ConnectionId agent) {
    std::vector<Hash128> all;
    for (const auto& blobs : take_agent<wire::Blobs>(agent))
      all.insert(all.end(), blobs.missing.begin(), blobs.missing.end());
    return all;
  }
};

TEST(Tracker, AJobIsLeasedOnceItsModulesAreHere) {
  BlobsFleet fleet;
  const auto a = fleet.agent("a", 4);
  const auto session = fleet.open(kSession);
  const Hash128 one = hash_bytes("one"), two = hash_bytes("two"), reference = hash_bytes("reference");
  wire::Job job = job_of(1, {one, two, one});
  job.reference = wire::Reference{};
  job.reference->module_hash = reference;
  fleet.submit(session, {job, job_of(2, {two})});
  EXPECT_THAT(fleet.asked(session), testing::UnorderedElementsAre(one, two, reference)) << "each once, and at once";
  EXPECT_TRUE(fleet.leases(a).empty());
  EXPECT_EQ(fleet.tracker->status().queued, 2u) << "they wait, as people see it";
  fleet.send(session, "one");
  fleet.send(session, "reference");
  EXPECT_TRUE(fleet.leases(a).empty());
  fleet.send(session, "two");
  EXPECT_EQ(fleet.leases(a).size(), 2u);
  fleet.submit(session, {job_of(3, {one, two})});
  EXPECT_EQ(fleet.leases(a).size(), 1u) << "all is here";
  EXPECT_TRUE(fleet.asked(session).empty());
}

TEST(Tracker, BlobsComeFromTheSessionOnceAndFromTheStoreAfterwards) {
  BlobsFleet fleet;
  const auto a = fleet.agent("a", 1), b = fleet.agent("b", 1);
  const auto session = fleet.open(kSession);
  const Hash128 hash = hash_bytes("a module"), unknown = hash_bytes("nobody's");
  fleet.submit(session, {job_of(1, {hash}), job_of(2, {hash})});
  EXPECT_EQ(fleet.asked(session), std::vector{hash});
  fleet.send(session, "a module");
  for (const ConnectionId agent : {a, b}) {
    fleet.tracker->agent_message(agent, wire::BlobRequest{{hash, unknown}});
    const auto reply = fleet.take_agent<wire::Blobs>(agent).at(0);
    EXPECT_EQ(reply.blobs.at(0).data, "a module");
    EXPECT_EQ(reply.missing, std::vector{unknown});
  }
  EXPECT_TRUE(fleet.asked(session).empty());
}

TEST(Tracker, BlobsThatNobodyAskedForAreNotKept) {
  BlobsFleet fleet;
  const auto session = fleet.open(kSession);
  fleet.send(session, "a present");
  EXPECT_EQ(fleet.tracker->counts().blobs, 0u);
  fleet.submit(session, {job_of(1, {hash_bytes("x")})});
  fleet.tracker->session_message(session, wire::CancelJobs{});
  fleet.send(session, "x");
  EXPECT_EQ(fleet.tracker->counts().blobs, 0u) << "no job waits for it any more";
}

TEST(Tracker, ASessionIsAskedAgainWhenItReturns) {
  BlobsFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto session = fleet.open(kSession);
  fleet.submit(session, {job_of(1, {hash_bytes("x")})});
  fleet.tracker->session_gone(session);
  fleet.pass(30s);
  const auto again = fleet.open(kSession);
  EXPECT_EQ(fleet.asked(again), std::vector{hash_bytes("x")});
  fleet.send(again, "x");
  EXPECT_EQ(fleet.leases(a).size(), 1u);
}

TEST(Tracker, WhatASessionLacksFailsItsOwnJobsOnly) {
  BlobsFleet fleet;
  const auto a = fleet.agent("a", 8);
  // The lowest uuid there is: it is asked no sooner than others, and its answer counts for itself only.
  const auto bob = fleet.open(*wire::Uuid::parse("00000000-0000-0000-0000-000000000001")), alice = fleet.open(kSession);
  const Hash128 hash = hash_bytes("x");
  fleet.submit(bob, {job_of(1, {hash})});
  fleet.submit(alice, {job_of(1, {hash}), job_of(2, {hash})});
  EXPECT_EQ(fleet.asked(alice), std::vector{hash}) << "she is asked for the modules of her own jobs";
  fleet.lack(bob, hash);
  const auto failed = fleet.results(bob);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].candidates.at(0).status, ResultStatus::kBuildFailed);
  EXPECT_THAT(failed[0].candidates.at(0).message,
              HasSubstr(hash.hex() + " was found neither at the tracker nor at the session"));
  EXPECT_TRUE(fleet.results(alice).empty());
  fleet.lack(bob, hash);  // again: without a question
  fleet.send(alice, "x");
  EXPECT_EQ(fleet.leases(a).size(), 2u);
  fleet.want_blob(a, hash);
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).blobs.at(0).data, "x");
}

TEST(Tracker, ASilentSessionKeepsNoDeviceBusyAndNothingOfItIsLost) {
  BlobsFleet fleet;
  const auto a = fleet.agent("a", 2);
  const auto silent = fleet.open(wire::Uuid::random()), honest = fleet.open(kSession);
  fleet.submit(silent, {job_of(1, {hash_bytes("late")}), job_of(2, {hash_bytes("late")})});
  fleet.submit(honest, {job_of(1, {hash_bytes("x")}), job_of(2, {hash_bytes("x")})});
  fleet.send(honest, "x");
  for (const auto& lease : fleet.leases(a)) {
    EXPECT_EQ(lease.id.session, kSession);
    fleet.finish(a, lease);
  }
  EXPECT_EQ(fleet.results(honest).size(), 2u);
  fleet.pass(40s);
  EXPECT_TRUE(fleet.results(silent).empty()) << "it has time, at its own cost";
  fleet.want(a, "a", 2);
  fleet.send(silent, "late");
  EXPECT_EQ(fleet.leases(a).size(), 2u);
}

// The store of the smallest tracker holds two of these.
const std::string kLarge[] = {std::string(28 << 20, 'a'), std::string(28 << 20, 'b'), std::string(28 << 20, 'c')};

// A module that had to make room since its job was leased: the tests that follow show its fate.
class PushedOut : public testing::Test {
 protected:
  PushedOut() : fleet({.memory = MemoryPlan::kLeast}), a(fleet.agent("a", 1)), session(fleet.open(kSession)) {
    fleet.submit(session, {job_of(1, {hash}), job_of(2, {hash_bytes(kLarge[1])}), job_of(3, {hash_bytes(kLarge[2])})});
    for (const std::string& data : kLarge) fleet.send(session, data);
    lease = fleet.leases(a).at(0);
    EXPECT_EQ(lease.id.seq, 1u);
    EXPECT_EQ(fleet.tracker->counts().blobs, 2u);
    fleet.asked(session);
    fleet.want_blob(a, hash);
  }
  const Hash128 hash = hash_bytes(kLarge[0]);
  BlobsFleet fleet;
  const ConnectionId a, session;
  wire::Lease lease;
};

TEST_F(PushedOut, ItIsAskedForAgain) {
  EXPECT_EQ(fleet.asked(session), std::vector{hash});
  fleet.send(session, kLarge[0]);
  EXPECT_EQ(fleet.take_agent<wire::Blobs>(a).at(0).blobs.at(0).hash, hash);
}

TEST_F(PushedOut, WhenTheSessionGoesTheLeaseComesBackAtOnce) {
  fleet.tracker->session_gone(session);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  EXPECT_EQ(fleet.missing(a), std::vector{hash}) << "whoever asked waits no more";
  fleet.want(a, "a", 3);
  for (const auto& next : fleet.leases(a)) EXPECT_NE(next.id.seq, 1u) << "the others' modules are here";
  const auto again = fleet.open(kSession);
  EXPECT_EQ(fleet.asked(again), std::vector{hash});
  fleet.send(again, kLarge[0]);
  EXPECT_EQ(fleet.leases(a).at(0).id.seq, 1u) << "nothing was lost";
}

TEST_F(PushedOut, WhenTheSessionIsSilentTheLeaseComesBackInSeconds) {
  fleet.pass(4s);
  EXPECT_TRUE(fleet.ids<wire::Cancel>(a).empty());
  fleet.pass(1s);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  EXPECT_EQ(fleet.missing(a), std::vector{hash});
  fleet.want(a, "a", 1);
  for (const auto& next : fleet.leases(a)) EXPECT_NE(next.id.seq, 1u);
  fleet.send(session, kLarge[0]);  // at last
  fleet.want(a, "a", 3);
  EXPECT_THAT(fleet.leases(a),
              testing::Contains(testing::Field(&wire::Lease::id, testing::Field(&wire::LeaseId::seq, 1u))));
}

TEST_F(PushedOut, WhenTheSessionDoesNotHaveItAnyMoreTheLeaseFails) {
  fleet.lack(session, hash);
  EXPECT_TRUE(fleet.ids<wire::Cancel>(a).empty()) << "its agent says so";
  EXPECT_EQ(fleet.missing(a), std::vector{hash});
}

TEST_F(PushedOut, AnotherSessionsWordDoesNotCount) {
  const auto other = fleet.open(wire::Uuid::random());
  fleet.lack(other, hash);
  EXPECT_TRUE(fleet.missing(a).empty());
  fleet.submit(other, {job_of(1, {hash})});
  fleet.lack(other, hash);
  EXPECT_TRUE(fleet.missing(a).empty()) << "not even of one whose jobs name it";
}

}  // namespace
}  // namespace hone::tracker
