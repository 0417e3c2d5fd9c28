// Marks that people set by hand, through the Tracker: they outlive restarts of the tracker and reports of agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fakes/fake_fleet.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The drained devices in the last message to the agent.
std::vector<std::string> told(FakeFleet& fleet, ConnectionId agent) {
  const auto messages = fleet.take_agent<wire::Drained>(agent);
  EXPECT_THAT(messages, SizeIs(1));
  return messages.empty() ? std::vector<std::string>() : messages.back().devices;
}

TEST(Drain, AnAgentIsToldAndARestartedTrackerLearnsOfItFromTheAgent) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const auto first = fleet.connect(hello);
  EXPECT_THAT(fleet.take_agent<wire::Drained>(first), IsEmpty()) << "there is nothing to tell";
  ASSERT_TRUE(fleet.tracker->admin("drain", "a").ok());
  hello.drained = told(fleet, first);
  EXPECT_THAT(hello.drained, ElementsAre("a/cpu"));

  fleet.restart();
  const auto second = fleet.connect(hello);
  EXPECT_EQ(fleet.state("a/cpu"), "draining");
  EXPECT_THAT(fleet.take_agent<wire::Drained>(second), IsEmpty()) << "it knows";
  fleet.want(second, "a", 4);
  fleet.submit(fleet.open(kSession), 1);
  EXPECT_THAT(fleet.leases(second), IsEmpty());
  ASSERT_TRUE(fleet.tracker->admin("resume", "a/cpu").ok());
  EXPECT_THAT(told(fleet, second), IsEmpty());
  EXPECT_THAT(fleet.leases(second), SizeIs(1));
}

TEST(Drain, ATrackerThatKnowsTheDeviceKnowsBetterThanItsAgent) {
  FakeFleet fleet;
  auto hello = fleet.hello("a");
  const auto first = fleet.connect(hello);
  ASSERT_TRUE(fleet.tracker->admin("drain", "a/cpu").ok());
  hello.drained = told(fleet, first);
  fleet.tracker->agent_gone(first);
  ASSERT_TRUE(fleet.tracker->admin("resume", "a/cpu").ok());
  const auto second = fleet.connect(hello);
  EXPECT_EQ(fleet.state("a/cpu"), "idle");
  EXPECT_THAT(told(fleet, second), IsEmpty());

  fleet.tracker->agent_gone(second);
  ASSERT_TRUE(fleet.tracker->admin("drain", "a/cpu").ok());
  const auto other_process = fleet.connect(fleet.hello("a"));
  EXPECT_THAT(told(fleet, other_process), ElementsAre("a/cpu"));
}

TEST(Drain, AnAgentSpeaksOnlyOfItsOwnDevices) {
  FakeFleet fleet;
  fleet.agent("b");
  auto hello = fleet.hello("a");
  hello.drained = {"b/cpu", "c/cpu"};
  fleet.connect(hello);
  fleet.agent("c");
  for (const char* device : {"a/cpu", "b/cpu", "c/cpu"}) EXPECT_EQ(fleet.state(device), "idle");
}

class KeptByHand : public testing::Test {
 protected:
  KeptByHand() { restart(); }
  // The tracker was killed, and another one begins with its file.
  void restart() {
    TrackerOptions options;
    options.quarantined = KeptQuarantine::open(folder_.path() + "/state").value();
    fleet_.emplace(std::move(options));
  }

  const TemporaryFolder folder_;
  std::optional<FakeFleet> fleet_;
};

TEST_F(KeptByHand, NoAgentLiftsAQuarantine) {
  auto hello = fleet_->hello("a");
  hello.devices.push_back(FakeFleet::device("a/cuda0", "cuda"));
  auto connection = fleet_->connect(hello);
  ASSERT_TRUE(fleet_->tracker->admin("quarantine", "a/cpu").ok());
  const auto expect_set_aside = [&] {
    EXPECT_EQ(fleet_->state("a/cpu"), "quarantined");
    EXPECT_EQ(fleet_->state("a/cuda0"), "idle");
    fleet_->want(connection, "a", 4);
    fleet_->submit(fleet_->open(wire::Uuid::random()), 1);
    EXPECT_THAT(fleet_->leases(connection), IsEmpty());
  };
  expect_set_aside();

  restart();
  connection = fleet_->connect(hello);
  expect_set_aside();

  restart();  // it says that the device is only drained
  hello.drained = {"a/cpu"};
  connection = fleet_->connect(hello);
  expect_set_aside();

  fleet_->tracker->agent_gone(connection);  // it has no such device, and then has it again
  auto without = hello;
  without.devices.erase(without.devices.begin());
  connection = fleet_->connect(without);
  fleet_->tracker->agent_gone(connection);
  hello.drained = {};
  hello.instance = wire::Uuid::random();
  connection = fleet_->connect(hello);
  expect_set_aside();

  ASSERT_TRUE(fleet_->tracker->admin("resume", "a").ok());
  EXPECT_THAT(fleet_->leases(connection), testing::Not(IsEmpty()));
  restart();
  fleet_->connect(hello);
  EXPECT_EQ(fleet_->state("a/cpu"), "idle");
}

TEST_F(KeptByHand, AnAgentsQuarantineIsForDevicesThatItHasLaterToo) {
  fleet_->agent("a");
  ASSERT_TRUE(fleet_->tracker->admin("quarantine", "a").ok());
  restart();
  auto hello = fleet_->hello("a");
  hello.devices.push_back(FakeFleet::device("a/cpu1"));
  fleet_->connect(hello);
  EXPECT_EQ(fleet_->state("a/cpu1"), "quarantined");
  ASSERT_TRUE(fleet_->tracker->admin("drain", "a/cpu1").ok());
  EXPECT_EQ(fleet_->state("a/cpu1"), "draining");
  EXPECT_EQ(fleet_->state("a/cpu"), "quarantined");
  restart();
  fleet_->connect(hello);
  EXPECT_EQ(fleet_->state("a/cpu"), "quarantined");
  EXPECT_EQ(fleet_->state("a/cpu1"), "idle") << "a drain is its agent's to bring";
}

TEST_F(KeptByHand, WhoIsNotHereCanBeResumedAndNothingElse) {
  fleet_->agent("a");
  ASSERT_TRUE(fleet_->tracker->admin("quarantine", "a/cpu").ok());
  restart();
  for (const char* action : {"drain", "quarantine"})
    EXPECT_THAT(message_of(fleet_->tracker->admin(action, "a").status()),
                HasSubstr("there are: none; quarantined, but not connected: a/cpu"));
  EXPECT_EQ(fleet_->tracker->admin("resume", "a").value(),
            "resume: a is not connected; it will not be quarantined when it connects");
  fleet_->agent("a");
  EXPECT_EQ(fleet_->state("a/cpu"), "idle");
}

TEST_F(KeptByHand, WhatCannotBeKeptIsNotDone) {
  fleet_->agent("a");
  std::filesystem::remove_all(folder_.path());
  const auto done = fleet_->tracker->admin("quarantine", "a");
  EXPECT_TRUE(absl::IsInvalidArgument(done.status())) << done.status();
  EXPECT_EQ(fleet_->state("a/cpu"), "idle");
}

// Devices that the tracker itself set aside come back by themselves: a restart forgets them.
TEST_F(KeptByHand, WhatTheTrackerDecidedIsNotKept) {
  auto connection = fleet_->agent("a", 8);
  fleet_->submit(fleet_->open(kSession), 1, 8);
  for (int lost = 0; lost < 3; ++lost) {
    fleet_->tracker->agent_gone(connection);
    connection = fleet_->agent("a", 8);
  }
  ASSERT_EQ(fleet_->state("a/cpu"), "quarantined");
  restart();
  fleet_->agent("a");
  EXPECT_EQ(fleet_->state("a/cpu"), "idle");
}

}  // namespace
}  // namespace hone::tracker
