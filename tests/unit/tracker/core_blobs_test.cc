// Modules on their way from sessions to agents, through the Tracker.
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

const wire::Uuid kSession = wire::Uuid::random();

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
  const auto session = fleet.open(kSession), other = fleet.open(wire::Uuid::random());
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

}  // namespace
}  // namespace hone::tracker
