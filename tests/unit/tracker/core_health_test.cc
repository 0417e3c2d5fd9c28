// Quarantine and probation, poison jobs, and what is remembered of devices and sessions: through the Tracker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::ResultStatus;

const wire::Uuid kSession = wire::Uuid::random();

std::vector<std::string> events(const Fleet& fleet, const std::string& device) {
  std::vector<std::string> out;
  const auto detail = fleet.tracker->device_detail(device);
  if (detail)
    for (const NotedEvent& event : detail->events) out.push_back(event.what);
  return out;
}

// Passing time in steps short enough that what the agents hold is not lost.
void wait(Fleet& fleet, Clock::Duration time, const std::vector<std::pair<ConnectionId, wire::Lease>>& held = {}) {
  for (auto passed = 0s; passed < time; passed += 5s) {
    for (const auto& [agent, lease] : held) fleet.tracker->agent_message(agent, wire::Heartbeat{{lease.id}, {}});
    fleet.pass(5s);
  }
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
  Fleet fleet_;
  ConnectionId session_, agent_;
};

TEST_F(Probation, BeginsAfterAWhileGivesOneLeaseAtATimeAndEndsWithGoodAnswers) {
  fleet_.submit(session_, 10, 20);
  fleet_.pass(29s);
  EXPECT_TRUE(fleet_.leases(agent_).empty());
  EXPECT_THAT(fleet_.tracker->status().devices[0].why, HasSubstr("lost its leases 3 times in a row; tried again in 1 s"));
  fleet_.pass(1s);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fleet_.state("a/cpu"), "probation");
    EXPECT_THAT(fleet_.tracker->status().devices[0].why, HasSubstr(std::to_string(i) + " of 5 good answers"));
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

// What a device lost before people quarantined it is not their reason.
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

TEST(Health, AnAgentThatCrashesOverItsLeasesIsQuarantinedThoughEachProcessIsNew) {
  Fleet fleet;
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

// Whoever works on job 1 dies. The others of its batch are not to blame, and neither are the devices.
TEST(Poison, IsNamedAndCostsNeitherTheDevicesNorTheJobsBesideIt) {
  Fleet fleet({.window = 64});
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
  EXPECT_THAT(results[1].candidates[0].message, HasSubstr("poison: 3 leases were lost on "));
  for (const auto& device : fleet.tracker->status().devices) EXPECT_NE(device.state, "quarantined") << device.info.key;
  EXPECT_EQ(fleet.tracker->status().sessions.at(0).poisoned, 1u);
  EXPECT_EQ(fleet.tracker->counts().poisoned, 1u);
  EXPECT_THAT(fleet.tracker->session_detail(kSession)->events.back().what, HasSubstr("job 1 is poison"));
}

TEST(Poison, ManyOfThemDoNotQuarantineTheFleet) {
  Fleet fleet({.window = 64});
  const auto session = fleet.open(kSession);
  std::vector<std::pair<std::string, ConnectionId>> agents;
  for (const char* name : {"a", "b", "c"}) agents.emplace_back(name, fleet.agent(name, 1));
  fleet.submit(session, 1, 6);
  size_t lost = 0;
  for (int round = 0; round < 100 && lost < 6; ++round) {
    for (const auto& [name, agent] : agents)
      for (const auto& lease : fleet.leases(agent)) fleet.finish(agent, lease, ResultStatus::kDeviceLost), fleet.want(agent, name, 1);
    fleet.pass(1s);
    lost += fleet.results(session).size();
  }
  EXPECT_EQ(lost, 6u);
  wait(fleet, 30s);
  fleet.submit(session, 10, 3);
  fleet.tracker->tick();
  size_t granted = 0;
  for (const auto& [name, agent] : agents) granted += fleet.leases(agent).size();
  EXPECT_EQ(granted, 3u) << "all three devices work";
}

TEST(Retry, AJobDoesNotWaitForEverForADeviceThatNeverAsks) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.agent("b");  // usable, but wants nothing
  fleet.submit(session, 1);
  fleet.finish(a, fleet.leases(a).at(0), ResultStatus::kDeviceLost);
  EXPECT_TRUE(fleet.leases(a).empty());
  fleet.pass(15s);
  EXPECT_EQ(fleet.leases(a).size(), 1u);
}

TEST(Readings, AreShownRememberedAndOnlyTakenFromTheDevicesAgent) {
  Fleet fleet({.started_unix_s = 1e9});
  const auto a = fleet.agent("a"), b = fleet.agent("b");
  fleet.clock.advance(25s);
  fleet.tracker->agent_message(a, wire::Heartbeat{{}, {{"a/cpu", 61.5, 1800, "thermal", 0.5}, {"b/cpu", 99, {}, "", {}}}});
  fleet.tracker->agent_message(b, wire::Heartbeat{{}, {}});
  const auto detail = fleet.tracker->device_detail("a/cpu").value();
  EXPECT_EQ(detail.device.health.temperature_c, 61.5);
  EXPECT_EQ(detail.device.health.clock_mhz, 1800);
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
  Fleet fleet({.started_unix_s = 1e9});
  const auto agent = fleet.agent("a", 2);
  const auto session = fleet.open(kSession, 2);
  fleet.submit(session, 1, 3);
  for (int i = 0; i < 3; ++i) {
    fleet.clock.advance(6s);
    fleet.tracker->tick();
    const auto leases = fleet.leases(agent);
    auto result = Fleet::result(leases.at(0).id, "a/cpu", i == 1 ? ResultStatus::kWrongResult : ResultStatus::kOk, 5);
    result.phases.build = 0.5;
    result.sentinel_after = 1e-4;
    fleet.tracker->agent_message(agent, wire::AgentResults{{result}, {leases[0].id}});
    for (size_t k = 1; k < leases.size(); ++k) fleet.tracker->agent_message(agent, wire::GiveBack{{leases[k].id}, "test"}), fleet.want(agent, "a", 1);
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

  const auto about = fleet.tracker->session_detail(kSession).value();
  ASSERT_EQ(about.curve.size(), 3u);
  EXPECT_EQ(about.curve[2], (wire::CurvePoint{18, 3, 30}));
  EXPECT_NEAR(about.session.share, 1, 1e-9);
  EXPECT_NEAR(about.session.device_seconds, 16.5, 1e-6);
  EXPECT_EQ(about.events.front().what, "opened");
  EXPECT_FALSE(fleet.tracker->session_detail(wire::Uuid::random()));
  const auto status = fleet.tracker->status();
  EXPECT_EQ(status.sessions.at(0).curve, about.curve);
  EXPECT_EQ(status.now, 1e9 + 18);
}

// An agent must not raise the epochs beyond what later runs of the tracker begin with, nor take jobs that are not for its devices.
TEST(Adoption, TakesNothingThatAnEarlierRunCannotHaveGranted) {
  Fleet fleet;
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
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(good).at(0).forget, (std::vector<wire::LeaseId>{{kSession, 1, UINT64_MAX}}));
  fleet.want(good, "good", 1);
  EXPECT_LT(fleet.leases(good).at(0).id.epoch, uint64_t{1} << 62);
  EXPECT_EQ(fleet.tracker->counts().adopted, 1u);
}

TEST(Submit, JobsComeBackWithTheirOwnReferenceThoughItIsKeptOnce) {
  Fleet fleet;
  const auto a = fleet.agent("a", 8);
  const auto session = fleet.open(kSession);
  wire::Submit submit;
  for (uint64_t seq = 1; seq <= 6; ++seq) {
    wire::Job job = Fleet::job(seq);
    job.reference = wire::Reference{};
    job.reference->module_hash = hash_bytes("r");
    job.reference->seed = seq % 2;
    job.reference->samples = {1, 2, 3};
    submit.jobs.push_back(job);
  }
  const auto sent = submit.jobs;
  fleet.tracker->session_message(session, submit);
  const auto leases = fleet.leases(a);
  ASSERT_EQ(leases.size(), 6u);
  for (const auto& lease : leases) EXPECT_EQ(lease.job, sent.at(lease.id.seq - 1));
}

TEST(Hello, SaysNoMoreThanItMay) {
  Fleet fleet({.max_devices = 3});
  auto hello = fleet.hello("a");
  for (int i = 0; i < 100; ++i) hello.devices[0].labels[std::to_string(i)] = std::string(4000, 'x');
  EXPECT_THAT(fleet.take_agent<wire::Refused>(fleet.connect(hello)).at(0).reason, HasSubstr("bytes about its devices"));
  hello = fleet.hello("a");
  hello.devices.push_back(Fleet::device("a/cuda0", "cuda"));
  const auto a = fleet.connect(hello);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(a).size(), 1u);
  fleet.tracker->agent_gone(a);
  EXPECT_EQ(fleet.take_agent<wire::AgentWelcome>(fleet.connect(hello)).size(), 1u) << "its own are not counted twice";
  hello = fleet.hello("b");
  hello.devices.push_back(Fleet::device("b/cuda0", "cuda"));
  const auto refused = fleet.take_agent<wire::Refused>(fleet.connect(hello));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(refused[0].retry);
}

TEST(Quarantine, AsksBackWhatTheDeviceHasNotStarted) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  const auto a = fleet.agent("a", 8);
  fleet.submit(session, 1, 8);
  const auto leases = fleet.leases(a);
  for (int i = 0; i < 3; ++i) fleet.finish(a, leases[static_cast<size_t>(i)], ResultStatus::kDeviceLost);
  EXPECT_EQ(fleet.state("a/cpu"), "quarantined");
  EXPECT_EQ(fleet.ids<wire::TakeBack>(a).size(), 5u);
}

TEST(Matching, AllLabelsOfASessionMustHold) {
  Fleet fleet;
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

TEST(Devices, ThatAnAgentNoLongerHasOrThatServeOthersNowAreGoneForTheirSessions) {
  Fleet fleet;
  auto hello = fleet.hello("a");
  hello.devices.push_back(Fleet::device("a/cpu1"));
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

TEST(Devices, SessionsAreToldOfAtMostAThousand) {
  Fleet fleet;
  const auto session = fleet.open(kSession);
  for (int i = 0; i < 1100; ++i) fleet.agent("a" + std::to_string(i));
  size_t messages = fleet.take_session<wire::Devices>(session).size();
  EXPECT_LT(messages, 50u) << "many changes are told together";
  fleet.tracker->tick();
  EXPECT_EQ(fleet.take_session<wire::Devices>(session).at(0).devices.size(), 1024u);
}

// What one busy device and one session do must not cost more when thousands of devices stand idle beside them.
TEST(Scale, IdleDevicesCostNothing) {
  const auto time = [](int idle, const char* target) {
    Fleet fleet;
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
