// Quarantine and probation, poison jobs, and the memory of devices and sessions: through the Tracker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::ResultStatus;

std::vector<std::string> events(const FakeFleet& fleet, const std::string& device) {
  std::vector<std::string> out;
  const auto detail = fleet.tracker->device_detail(device);
  if (detail)
    for (const NotedEvent& event : detail->events) out.push_back(event.what);
  return out;
}

class Probation : public testing::Test {
 protected:
  // a/cpu has lost its leases three times.
  Probation() : session_(fleet_.open(kSession)), agent_(fleet_.agent("a", 16)) {
    fleet_.submit(session_, 1, 3);
    for (const auto& lease : fleet_.leases(agent_)) fleet_.finish(agent_, lease, ResultStatus::kDeviceLost);
    EXPECT_EQ(fleet_.state("a/cpu"), "quarantined");
    fleet_.tracker->session_message(session_, wire::CancelJobs{});
    fleet_.tracker->session_message(session_, wire::SessionAck{{1, 2, 3}});
    fleet_.leases(agent_);
    fleet_.want(agent_, "a", 16);
  }
  wire::Lease one_lease() {
    const auto leases = fleet_.leases(agent_);
    EXPECT_EQ(leases.size(), 1u) << "one at a time";
    return leases.at(0);
  }
  FakeFleet fleet_;
  ConnectionId session_, agent_;
};

TEST_F(Probation, BeginsAfterAWhileGivesOneLeaseAtATimeAndEndsWithGoodAnswers) {
  fleet_.submit(session_, 10, 20);
  fleet_.pass(29s);
  EXPECT_TRUE(fleet_.leases(agent_).empty());
  EXPECT_THAT(fleet_.tracker->status().devices[0].why,
              HasSubstr("lost its leases 3 times in a row; the tracker tries it again in 1 s"));
  fleet_.pass(1s);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fleet_.state("a/cpu"), "probation");
    EXPECT_THAT(fleet_.tracker->status().devices[0].why,
                HasSubstr(std::to_string(i) + " of the 5 good answers that it needs"));
    fleet_.finish(agent_, one_lease());
  }
  EXPECT_EQ(fleet_.state("a/cpu"), "busy");
  EXPECT_GT(fleet_.leases(agent_).size(), 1u);
  EXPECT_EQ(fleet_.tracker->status().devices[0].why, "");
  EXPECT_THAT(events(fleet_, "a/cpu"), testing::IsSupersetOf({"on probation", "passed its probation"}));
}

TEST_F(Probation, ALossSendsItBackForTwiceAsLong) {
  fleet_.submit(session_, 10, 20);
  fleet_.pass(30s);
  fleet_.finish(agent_, one_lease(), ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet_.state("a/cpu"), "quarantined");
  fleet_.pass(59s);
  EXPECT_EQ(fleet_.state("a/cpu"), "quarantined");
  fleet_.pass(1s);
  EXPECT_EQ(fleet_.state("a/cpu"), "probation");
}

TEST_F(Probation, TwoFailuresInARowSendItBackAndOneDoesNot) {
  fleet_.submit(session_, 10, 20);
  fleet_.pass(30s);
  fleet_.finish(agent_, one_lease(), ResultStatus::kBuildFailed);
  fleet_.finish(agent_, one_lease());
  fleet_.finish(agent_, one_lease(), ResultStatus::kRejected);
  fleet_.finish(agent_, one_lease(), ResultStatus::kBuildFailed);
  EXPECT_EQ(fleet_.state("a/cpu"), "probation");
  fleet_.finish(agent_, one_lease(), ResultStatus::kRunFailed);
  EXPECT_EQ(fleet_.state("a/cpu"), "quarantined");
}

TEST_F(Probation, PeoplesWordGoesBeforeTheTrackers) {
  ASSERT_TRUE(fleet_.tracker->admin("quarantine", "a/cpu").ok());
  fleet_.pass(7200s);
  EXPECT_EQ(fleet_.state("a/cpu"), "quarantined") << "by hand: until resumed";
  ASSERT_TRUE(fleet_.tracker->admin("resume", "a").ok());
  fleet_.submit(session_, 10, 20);
  EXPECT_GT(fleet_.leases(agent_).size(), 1u);
}

// Losses before an administrator quarantined the device are not the reason of that quarantine.
TEST_F(Probation, AJobThatIsLostElsewhereTooDoesNotUndoPeoplesWord) {
  fleet_.submit(session_, 10);
  fleet_.pass(30s);
  const auto lease = one_lease();
  ASSERT_TRUE(fleet_.tracker->admin("quarantine", "a/cpu").ok());
  const auto other = fleet_.agent("b", 1);
  fleet_.finish(agent_, lease, ResultStatus::kDeviceLost);
  fleet_.finish(other, fleet_.leases(other).at(0), ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet_.state("a/cpu"), "quarantined");
}

TEST_F(Probation, ANewProcessIsTriedAtOnceIfTheLastOneLeftInOrder) {
  fleet_.tracker->agent_gone(agent_);
  agent_ = fleet_.agent("a", 16);
  EXPECT_EQ(fleet_.state("a/cpu"), "probation");
  fleet_.submit(session_, 10, 20);
  one_lease();
}

TEST(Quarantine, ADeviceThatLosesLeasesInARowIsQuarantinedUntilResumed) {
  FakeFleet fleet;
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

TEST(Quarantine, ADeviceThatFailsWhereOthersSucceedIsQuarantined) {
  FakeFleet fleet;
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

TEST(Quarantine, FailuresOfAllDevicesAreNoDevicesFault) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 100);
  fleet.submit(session, 1, 64);
  for (const auto& lease : fleet.leases(a)) fleet.finish(a, lease, ResultStatus::kWrongResult);
  EXPECT_EQ(fleet.state("a/cpu"), "idle");
}

TEST(Health, AnAgentThatCrashesOverItsLeasesIsQuarantinedThoughEachProcessIsNew) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 50);
  for (int crash = 0; crash < 3; ++crash) {
    EXPECT_NE(fleet.state("a/cpu"), "quarantined") << crash;
    const auto agent = fleet.agent("a", 4);
    EXPECT_FALSE(fleet.leases(agent).empty());
    fleet.tracker->agent_gone(agent);
  }
  fleet.agent("a", 4);
  EXPECT_EQ(fleet.state("a/cpu"), "quarantined");
}

// Each device that works on job 1 dies. The other jobs of its batch are not to blame, and neither are the devices.
TEST(Poison, IsNamedAndCostsNeitherTheDevicesNorTheJobsBesideIt) {
  FakeFleet fleet({.window = 64});
  const auto session = fleet.open(kSession);
  fleet.submit(session, 1, 40);
  std::map<std::string, ConnectionId> agents;
  std::map<std::string, std::deque<wire::Lease>> held;
  for (const char* name : {"a", "b", "c", "d"}) agents[name] = fleet.agent(name, 8);
  std::map<uint64_t, wire::JobResult> results;
  int deaths = 0;
  for (int round = 0; round < 500 && results.size() < 40; ++round) {
    for (auto& [name, agent] : agents) {
      for (auto& lease : fleet.leases(agent)) held[name].push_back(lease);
      if (held[name].empty()) continue;
      if (held[name].front().id.seq == 1) {
        ++deaths;
        held[name].clear();
        fleet.tracker->agent_gone(agent);
        agent = fleet.agent(name, 8);
        continue;
      }
      fleet.finish(agent, held[name].front());
      held[name].pop_front();
      fleet.want(agent, name, 1);
    }
    fleet.pass(100ms);
    for (auto& result : fleet.results(session)) results[result.seq] = result;
  }
  ASSERT_EQ(results.size(), 40u);
  for (const auto& [seq, result] : results)
    EXPECT_EQ(result.candidates.at(0).status, seq == 1 ? ResultStatus::kDeviceLost : ResultStatus::kOk) << seq;
  EXPECT_EQ(deaths, 3);
  EXPECT_THAT(results[1].candidates[0].message, HasSubstr("given up: 3 leases were lost on "));
  for (const auto& device : fleet.tracker->status().devices) EXPECT_NE(device.state, "quarantined") << device.info.key;
  EXPECT_EQ(fleet.tracker->status().sessions.at(0).poisoned, 1u);
  EXPECT_EQ(fleet.tracker->counts().poisoned, 1u);
  EXPECT_THAT(fleet.tracker->session_detail(kSession.text())->events.back().what, HasSubstr("job 1 was given up"));
}

TEST(Poison, ManyOfThemDoNotQuarantineTheFleet) {
  FakeFleet fleet({.window = 64});
  const auto session = fleet.open(kSession);
  std::vector<std::pair<std::string, ConnectionId>> agents;
  for (const char* name : {"a", "b", "c"}) agents.emplace_back(name, fleet.agent(name, 1));
  fleet.submit(session, 1, 6);
  size_t lost = 0;
  for (int round = 0; round < 100 && lost < 6; ++round) {
    for (const auto& [name, agent] : agents)
      for (const auto& lease : fleet.leases(agent))
        fleet.finish(agent, lease, ResultStatus::kDeviceLost), fleet.want(agent, name, 1);
    fleet.pass(1s);
    lost += fleet.results(session).size();
  }
  EXPECT_EQ(lost, 6u);
  for (int i = 0; i < 6; ++i) fleet.pass(5s);
  fleet.submit(session, 10, 3);
  fleet.tracker->tick();
  size_t granted = 0;
  for (const auto& [name, agent] : agents) granted += fleet.leases(agent).size();
  EXPECT_EQ(granted, 3u) << "all three devices work";
}

TEST(Readings, AreShownRememberedAndOnlyTakenFromTheDevicesAgent) {
  FakeFleet fleet({.started_unix_s = 1e9});
  const auto a = fleet.agent("a"), b = fleet.agent("b");
  fleet.clock.advance(25s);
  fleet.tracker->agent_message(
      a, wire::Heartbeat{{}, {{"a/cpu", 61.5, 1800, "thermal", 0.5, "ondemand"}, {"b/cpu", 99, {}, "", {}}}});
  fleet.tracker->agent_message(b, wire::Heartbeat{{}, {}});
  const auto detail = fleet.tracker->device_detail("a/cpu").value();
  EXPECT_EQ(detail.device.health.temperature_c, 61.5);
  EXPECT_EQ(detail.device.health.clock_mhz, 1800);
  EXPECT_EQ(detail.device.health.governor, "ondemand");
  EXPECT_EQ(detail.device.why, "throttled: thermal");
  ASSERT_EQ(detail.history.size(), 1u);
  EXPECT_EQ(detail.history[0].t, 1e9 + 20);
  EXPECT_EQ(detail.history[0].temperature_c, 61.5);
  EXPECT_EQ(detail.events.back().what, "throttled: thermal");
  EXPECT_EQ(detail.events.back().t, 1e9 + 25);
  EXPECT_FALSE(fleet.tracker->device_detail("b/cpu")->device.health.temperature_c) << "not a's to tell";
  EXPECT_FALSE(fleet.tracker->device_detail("c/cpu"));
}

TEST(Details, OfADeviceSayWhatItDidAndOfASessionHowItGoes) {
  FakeFleet fleet({.started_unix_s = 1e9});
  const auto agent = fleet.agent("a", 2);
  const auto session = fleet.open(kSession, 2);
  fleet.submit(session, 1, 3);
  for (int i = 0; i < 3; ++i) {
    fleet.clock.advance(6s);
    fleet.tracker->tick();
    const auto leases = fleet.leases(agent);
    auto result =
        FakeFleet::result(leases.at(0).id, "a/cpu", i == 1 ? ResultStatus::kWrongResult : ResultStatus::kOk, 5);
    result.phases.build = 0.5;
    result.sentinel_after = 1e-4;
    fleet.tracker->agent_message(agent, wire::AgentResults{{result}, {leases[0].id}});
    for (size_t k = 1; k < leases.size(); ++k)
      fleet.tracker->agent_message(agent, wire::GiveBack{{leases[k].id}, "test"}), fleet.want(agent, "a", 1);
    fleet.want(agent, "a", 1);
    wire::Summary summary;
    summary.trials = static_cast<uint64_t>(i + 1);
    summary.best_gflops = 10 * (i + 1);
    fleet.tracker->session_message(session, summary);
  }
  const auto detail = fleet.tracker->device_detail("a/cpu").value();
  uint32_t done = 0, failed = 0;
  double busy = 0;
  for (const HistoryPoint& point : detail.history) done += point.done, failed += point.failed, busy += point.busy_s;
  EXPECT_EQ(done, 3u);
  EXPECT_EQ(failed, 1u);
  EXPECT_NEAR(busy, 18, 0.01);
  EXPECT_EQ(detail.by_status, (std::map<std::string, uint64_t>{{"ok", 2}, {"wrong_result", 1}}));
  EXPECT_NEAR(detail.phases.run, 15, 1e-9);
  EXPECT_NEAR(detail.phases.build, 1.5, 1e-9);
  EXPECT_NEAR(detail.device.utilization, 1, 0.01);
  EXPECT_GT(detail.device.jobs_per_minute, 5);

  const auto about = fleet.tracker->session_detail(kSession.text()).value();
  ASSERT_EQ(about.curve.size(), 3u);
  EXPECT_EQ(about.curve[2], (wire::CurvePoint{18, 3, 30}));
  EXPECT_NEAR(about.session.share, 1, 1e-9);
  EXPECT_NEAR(about.session.device_seconds, 16.5, 1e-6);
  EXPECT_EQ(about.events.front().what, "opened");
  EXPECT_FALSE(fleet.tracker->session_detail(wire::Uuid::random().text()));
  const auto status = fleet.tracker->status();
  EXPECT_EQ(status.sessions.at(0).curve, about.curve);
  EXPECT_EQ(status.now, 1e9 + 18);
}

TEST(Quarantine, AsksBackWhatTheDeviceHasNotStarted) {
  FakeFleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.submit(session, 1, 8);
  const auto leases = fleet.leases(a);
  for (int i = 0; i < 3; ++i) fleet.finish(a, leases[static_cast<size_t>(i)], ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet.state("a/cpu"), "quarantined");
  EXPECT_EQ(fleet.ids<wire::TakeBack>(a).size(), 5u);
}

}  // namespace
}  // namespace hone::tracker
