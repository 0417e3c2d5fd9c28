// Messages that the tracker sends once it has handled a message.
#include "tracker/state/outgoing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracker/parts.h"

namespace hone::tracker {
namespace {

constexpr ConnectionId kToAgent = 1, kToTuner = 2;

struct OutgoingFixture : TrackerParts {
  const wire::Uuid session = open(kToTuner).spec.session;

  OutgoingFixture() { registry.connect("a", wire::Uuid::random(), kToAgent, {FakeFleet::device("a/cpu")}); }
};

TEST(Outgoing, SendsOneMessageOfEachKindCancelsBeforeAcks) {
  OutgoingFixture f;
  f.out.ack("a", {f.session, 1, 1});
  f.out.cancel("a", {f.session, 2, 2});
  f.out.ack("a", {f.session, 3, 3});
  EXPECT_TRUE(f.recorder.agents[kToAgent].empty()) << "not before the end";
  f.out.flush();
  const auto& sent = f.recorder.agents[kToAgent];
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(std::get<wire::Cancel>(sent[0]).leases.size(), 1u);
  EXPECT_EQ(std::get<wire::ResultAck>(sent[1]).leases.size(), 2u);
  f.out.flush();
  EXPECT_EQ(sent.size(), 2u) << "once";
}

TEST(Outgoing, CutsManyResultsIntoMessagesAndKeepsTheirOrder) {
  OutgoingFixture f;
  for (uint64_t seq = 0; seq < 100; ++seq) f.out.result(f.session, {f.session, seq});
  f.out.flush();
  std::vector<uint64_t> seqs;
  const auto& sent = f.recorder.sessions[kToTuner];
  EXPECT_EQ(sent.size(), 2u);
  for (const auto& message : sent)
    for (const wire::JobResult& result : std::get<wire::SessionResults>(message).results) seqs.push_back(result.seq);
  ASSERT_EQ(seqs.size(), 100u);
  EXPECT_TRUE(std::is_sorted(seqs.begin(), seqs.end()));
}

TEST(Outgoing, DropsWhatIsForPeersWithoutAConnection) {
  OutgoingFixture f;
  f.out.ask(f.session, hash_bytes("a module"));
  f.book.disconnect(*f.book.find(f.session));
  f.registry.disconnect(*f.registry.agent("a"));
  f.out.cancel("a", {f.session, 1, 1});
  f.out.cancel("unknown", {f.session, 1, 1});
  f.out.flush();
  EXPECT_TRUE(f.recorder.agents.empty());
  EXPECT_TRUE(f.recorder.sessions.empty());
}

}  // namespace
}  // namespace hone::tracker
