// Which devices serve a session, and the tracker's messages about them, through the Tracker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"
#include "tracker/pages.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Matching, AKeyIsADeviceAnAgentOrALabel) {
  Device device;
  device.info = FakeFleet::device("board/cpu", "llvm -mcpu=a72");
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

TEST(Matching, AllLabelsOfASessionMustHold) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  hello.devices[0].labels = {{"room", "lab"}, {"soc", "bcm2711"}};
  const auto a = fleet.connect(hello);
  fleet.want(a, "a", 8);
  wire::SessionOpen open;
  open.session = kSession;
  open.labels = {"room=lab", "soc=rk3588"};
  const auto none = fleet.open_as(open);
  EXPECT_TRUE(fleet.take_session<wire::SessionOpened>(none).at(0).devices.empty());
  fleet.submit(none, 1);
  EXPECT_TRUE(fleet.leases(a).empty());
  open.labels = {"soc=bcm2711", "room=lab"};
  const auto again = fleet.open_as(open);  // the same session asks for something else
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(again).at(0).devices.size(), 1u);
  EXPECT_EQ(fleet.leases(a).size(), 1u) << "its queued job goes along";
}

TEST(Tracker, SessionsAreToldWhenTheirDevicesChange) {
  FakeFleet fleet;
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

TEST(Devices, ThatAnAgentNoLongerHasOrThatServeOthersNowAreGoneForTheirSessions) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  hello.devices.push_back(FakeFleet::device("a/cpu1"));
  hello.devices[0].labels = {{"room", "lab"}};
  hello.devices[1].labels = {{"room", "lab"}};
  const auto a = fleet.connect(hello);
  wire::SessionOpen open;
  open.session = kSession;
  open.labels = {"room=lab"};
  const auto session = fleet.open_as(open);
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(session).at(0).devices.size(), 2u);
  fleet.want(a, "a", 1);
  fleet.submit(session, 1, 2);
  EXPECT_EQ(fleet.leases(a).size(), 1u);
  fleet.tracker->agent_gone(a);
  hello.devices.pop_back();
  const auto fewer = fleet.connect(hello);
  EXPECT_EQ(fleet.take_session<wire::Devices>(session).back().devices.size(), 1u);
  fleet.tracker->agent_gone(fewer);
  hello.devices[0].labels = {{"room", "attic"}};
  const auto moved = fleet.connect(hello);
  EXPECT_TRUE(fleet.take_session<wire::Devices>(session).back().devices.empty());
  fleet.want(moved, "a", 1);
  EXPECT_TRUE(fleet.leases(moved).empty()) << "it is elsewhere now";
  fleet.tracker->agent_gone(moved);
  fleet.connect(hello);
  fleet.tracker->tick();
  EXPECT_TRUE(fleet.take_session<wire::Devices>(session).empty()) << "nothing has changed";
}

TEST(Devices, ThatAreLostSaySinceWhen) {
  FakeFleet fleet;
  const auto a = fleet.agent("a");
  EXPECT_EQ(fleet.tracker->status().devices.at(0).lost_s, 0);
  fleet.tracker->agent_gone(a);
  fleet.pass(90s);
  const wire::DeviceStatus lost = fleet.tracker->status().devices.at(0);
  EXPECT_EQ(lost.lost_s, 90);
  EXPECT_THAT(state_text(fleet.tracker->status()), HasSubstr("lost for 90 s"));
}

TEST(Devices, SessionsAreToldOfAtMostAThousand) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  for (int i = 0; i < 1100; ++i) fleet.agent("a" + std::to_string(i));
  size_t messages = fleet.take_session<wire::Devices>(session).size();
  EXPECT_LT(messages, 50u) << "many changes are told together";
  fleet.tracker->tick();
  EXPECT_EQ(fleet.take_session<wire::Devices>(session).at(0).devices.size(), 1024u);
}

TEST(Hello, SaysNoMoreThanItMay) {
  FakeFleet fleet({.max_devices = 3});
  auto hello = fleet.hello("a");
  for (int i = 0; i < 100; ++i) hello.devices[0].labels[std::to_string(i)] = std::string(4000, 'x');
  EXPECT_THAT(fleet.take_agent<wire::Refused>(fleet.connect(hello)).at(0).reason,
              HasSubstr("describes its devices in "));
  hello = fleet.hello("a");
  hello.devices.push_back(FakeFleet::device("a/cuda0", "cuda"));
  const auto a = fleet.connect(hello);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(a).size(), 1u);
  fleet.tracker->agent_gone(a);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(fleet.connect(hello)).size(), 1u) << "its own are not counted twice";
  hello = fleet.hello("b");
  hello.devices.push_back(FakeFleet::device("b/cuda0", "cuda"));
  const auto refused = fleet.take_agent<wire::Refused>(fleet.connect(hello));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(refused[0].retry);
}

// The cost of one busy device and one session must not grow with thousands of idle devices.
TEST(Scale, IdleDevicesCostNothing) {
  const auto time = [](int idle, const char* target) {
    FakeFleet fleet;
    for (int i = 0; i < idle; ++i) {
      auto hello = fleet.hello("idle" + std::to_string(i));
      hello.devices[0].target = target;
      const auto id = fleet.connect(hello);
      fleet.want(id, "idle" + std::to_string(i), 8);
    }
    const auto session = fleet.open(kSession);
    const auto busy = fleet.agent("busy", 8);
    fleet.tracker->tick();
    fleet.out.sessions.clear();
    const auto begin = std::chrono::steady_clock::now();
    uint64_t seq = 1;
    for (int i = 0; i < 3000; ++i) {
      fleet.submit(session, seq++);
      for (auto& [connection, inbox] : fleet.out.agents) {
        if (inbox.empty()) continue;
        for (const auto& lease : fleet.leases(connection)) {
          const std::string name = lease.device.substr(0, lease.device.find('/'));
          fleet.finish(connection, lease);
          fleet.want(connection, name, 1);
          fleet.tracker->session_message(session, wire::SessionAck{{lease.id.seq}});
        }
        fleet.out.agents[connection].clear();
        break;
      }
      fleet.out.agents.clear();
      fleet.out.sessions.clear();
      if (i % 100 == 0) fleet.tracker->tick();
    }
    (void)busy;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double few = 1e9, many = 1e9;
  for (int i = 0; i < 3; ++i) {
    few = std::min(few, time(20, "cuda -arch=sm_90"));
    many = std::min(many, time(5000, "cuda -arch=sm_90"));
  }
  EXPECT_LT(many, 8 * few) << "250 times the devices";
}

}  // namespace
}  // namespace hone::tracker
