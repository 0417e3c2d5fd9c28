// Devices that say by their label that they build for boards: the label counts once its key is proved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/wire/access/key_proof.h"
#include "tests/fakes/fake_fleet.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BuilderKeys : public testing::Test {
 protected:
  BuilderKeys() {
    wire::SessionOpen open;
    open.session = wire::Uuid::random();
    open.target_kind = wire::kBuilderKind;
    open.labels = {std::string(wire::kBuilderKeyLabel) + "=" + key_.public_key().fingerprint()};
    board_ = fleet_.open_as(open);
    fleet_.submit(board_, 1);
  }
  wire::AgentHello hello(const std::string& name, const wire::Uuid& instance = wire::Uuid::random()) {
    wire::AgentHello out = fleet_.hello(name, instance);
    out.devices = {FakeFleet::device(name + "/cpu", std::string(wire::kBuilderKind))};
    out.devices[0].labels = {{std::string(wire::kBuilderKeyLabel), key_.public_key().fingerprint()}, {"room", "lab"}};
    return out;
  }
  std::string challenge(ConnectionId agent) { return fleet_.take_agent<wire::AgentWelcome>(agent).at(0).challenge; }
  // The number of devices in the last message to its sessions.
  size_t shown() {
    for (const auto& devices : fleet_.take_session<wire::Devices>(board_)) shown_ = devices.devices.size();
    return shown_;
  }
  std::string refusal(ConnectionId agent) {
    const auto refused = fleet_.take_agent<wire::Refused>(agent);
    return refused.empty() ? "" : refused[0].reason;
  }
  wire::DeviceStatus status() const { return fleet_.tracker->status().devices.at(0); }

  const TemporaryFolder folder_;
  const wire::SigningKey key_ = wire::SigningKey::load_or_make(folder_.path() + "/key").value(),
                         other_ = wire::SigningKey::load_or_make(folder_.path() + "/other").value();
  FakeFleet fleet_;
  ConnectionId board_ = 0;
  size_t shown_ = 0;
};

TEST_F(BuilderKeys, WithoutAProofTheLabelIsLeftOffAndNoJobComes) {
  const auto rogue = fleet_.connect(hello("mallory"));
  fleet_.want(rogue, "mallory", 8);
  EXPECT_THAT(fleet_.leases(rogue), IsEmpty());
  EXPECT_EQ(shown(), 0u);
  EXPECT_THAT(status().info.labels, testing::ElementsAre(testing::Pair("room", "lab")));
  EXPECT_THAT(status().why, HasSubstr("not proved its builder's key"));
  EXPECT_EQ(refusal(rogue), "") << "an older agent works on, as far as it may";
}

TEST_F(BuilderKeys, AProvedKeyIsFoundByItsBoards) {
  const auto agent = fleet_.connect(hello("strong"));
  const std::string asked = challenge(agent);
  ASSERT_EQ(asked.size(), wire::kNonceBytes);
  fleet_.want(agent, "strong", 8);
  fleet_.tracker->agent_message(agent, wire::prove_key(key_, asked, "strong/cpu"));
  EXPECT_EQ(shown(), 1u);
  EXPECT_THAT(fleet_.leases(agent), SizeIs(1)) << "what was wanted before the proof counts";
  EXPECT_EQ(status().info.labels.at("builder-key"), key_.public_key().fingerprint());
  EXPECT_EQ(status().why, "");
}

TEST_F(BuilderKeys, AProofOfAnotherKeyDeviceOrConnectionEndsTheConnection) {
  const auto strong = fleet_.connect(hello("strong"));
  const std::string asked = challenge(strong);
  const auto first = fleet_.connect(hello("mallory"));
  fleet_.tracker->agent_message(first, wire::prove_key(other_, challenge(first), "mallory/cpu"));
  EXPECT_THAT(refusal(first), HasSubstr("not the one that the label names"));
  const auto second = fleet_.connect(hello("mallory"));
  fleet_.tracker->agent_message(second, wire::prove_key(key_, asked, "mallory/cpu"));  // an honest one asked for it
  EXPECT_THAT(refusal(second), HasSubstr("was not signed"));
  const auto third = fleet_.connect(hello("mallory"));
  fleet_.tracker->agent_message(third, wire::prove_key(key_, challenge(third), "strong/cpu"));
  EXPECT_THAT(refusal(third), HasSubstr("not one of its devices"));
  EXPECT_EQ(shown(), 0u);
}

TEST_F(BuilderKeys, AProofHoldsForTheAgentsProcess) {
  const auto same = wire::Uuid::random();
  auto agent = fleet_.connect(hello("strong", same));
  fleet_.tracker->agent_message(agent, wire::prove_key(key_, challenge(agent), "strong/cpu"));
  EXPECT_EQ(shown(), 1u);
  fleet_.tracker->agent_gone(agent);
  agent = fleet_.connect(hello("strong", same));
  EXPECT_EQ(challenge(agent), "");
  EXPECT_EQ(shown(), 1u) << "its boards notice nothing";
  wire::AgentHello renamed = hello("strong", same);
  renamed.devices[0].labels["builder-key"] = other_.public_key().fingerprint();
  fleet_.tracker->agent_gone(agent);
  agent = fleet_.connect(renamed);
  EXPECT_NE(challenge(agent), "") << "another key";
  EXPECT_EQ(shown(), 0u);
  fleet_.tracker->agent_gone(agent);
  agent = fleet_.connect(hello("strong"));
  EXPECT_NE(challenge(agent), "") << "another process";
  EXPECT_EQ(shown(), 0u);
}

TEST_F(BuilderKeys, DevicesWithoutTheLabelAreAskedForNothing) { EXPECT_EQ(challenge(fleet_.agent("a")), ""); }

TEST(Tracker, TellsAgentsAndSessionsWhatTimeItIs) {
  FakeFleet fleet({.started_unix_s = 1.8e9});
  fleet.clock.advance(90s);
  const auto agent = fleet.agent("a");
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(agent).at(0).now, 1.8e9 + 90);
  const auto session = fleet.open(wire::Uuid::random());
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(session).at(0).now, 1.8e9 + 90);
}

}  // namespace
}  // namespace hone::tracker
