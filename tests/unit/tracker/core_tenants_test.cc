// The owner of a session, and the limits of its token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"
#include "tracker/pages.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const gate::Tenant kAlice{"tuner alice", {}, "secret-host"}, kBob{"tuner bob", {}}, kBoss{"admin boss", {}};

class TenantsFleet : public FakeFleet {
 public:
  using FakeFleet::FakeFleet;
  ConnectionId open_for(const gate::Tenant& tenant, const wire::Uuid& uuid, double weight = 1, int32_t priority = 0) {
    wire::SessionOpen open;
    open.session = uuid;
    open.target_kind = "llvm";
    open.weight = weight;
    open.priority = priority;
    const ConnectionId id = next_++;
    tracker->session_message(id, open, tenant);
    return id;
  }
  /// Empty: it was not refused.
  std::string refusal(ConnectionId session) {
    const auto refused = take_session<wire::Refused>(session);
    return refused.empty() ? "" : refused[0].reason;
  }

 private:
  ConnectionId next_ = 1'000'000;
};

TEST(Tenants, ASessionBelongsToTheTokenThatOpenedIt) {
  TenantsFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto alice = fleet.open_for(kAlice, kSession);
  fleet.submit(alice, 1, 2);
  const auto lease = fleet.leases(a).at(0);
  for (const gate::Tenant& other : {kBob, kBoss}) {
    const auto thief = fleet.open_for(other, kSession);
    const auto refused = fleet.take_session<wire::Refused>(thief);
    ASSERT_EQ(refused.size(), 1u) << other.name;
    EXPECT_EQ(refused[0].reason, "the session belongs to another token");
    EXPECT_FALSE(refused[0].retry);
    fleet.tracker->session_message(thief, wire::CancelJobs{});  // its messages are ignored
    EXPECT_TRUE(fleet.out.sessions[thief].empty() || fleet.take_session<wire::SessionOpened>(thief).empty());
  }
  EXPECT_EQ(fleet.refusal(alice), "") << "she does not notice";
  fleet.finish(a, lease);
  EXPECT_EQ(fleet.results(alice).size(), 1u);
}

TEST(Tenants, AlsoWhileItIsAway) {
  TenantsFleet fleet;
  const auto alice = fleet.open_for(kAlice, kSession);
  fleet.submit(alice, 1);
  fleet.tracker->session_gone(alice);
  fleet.pass(30s);
  EXPECT_THAT(fleet.refusal(fleet.open_for(kBob, kSession)), HasSubstr("belongs to another token"));
  const auto again = fleet.open_for(kAlice, kSession);
  EXPECT_EQ(fleet.take_session<wire::SessionOpened>(again).at(0).known, std::vector<uint64_t>{1});
}

TEST(Tenants, PeopleSeeIdsAndOnlyAdministratorsUuids) {
  TenantsFleet fleet;
  fleet.open_for(kAlice, kSession);
  const wire::SessionStatus shown = fleet.tracker->status().sessions.at(0),
                            told = fleet.tracker->status({.admin = true}).sessions.at(0);
  EXPECT_TRUE(shown.session.is_zero());
  EXPECT_EQ(told.session, kSession);
  EXPECT_EQ(shown.id, told.id);
  EXPECT_GE(shown.id.size(), 12u);
  EXPECT_EQ(kSession.text().find(shown.id), std::string::npos);
  EXPECT_TRUE(fleet.tracker->session_detail(shown.id)->session.session.is_zero());
  fleet.restart();
  fleet.open_for(kAlice, kSession);
  EXPECT_NE(fleet.tracker->status().sessions.at(0).id, shown.id) << "it is not made of the uuid";
}

// A session that tunes a model, with everything that its tuner reports.
void tell_all(TenantsFleet& fleet, const gate::Tenant& tenant) {
  wire::SessionOpen open;
  open.session = kSession;
  open.title = "secret-model.onnx";
  open.target_kind = "llvm";
  open.target = "llvm -mcpu=secret";
  open.device_key = "secret-lab";
  open.labels = {"project=secret"};
  const ConnectionId id = 2'000'000;
  fleet.tracker->session_message(id, open, tenant);
  wire::Summary summary;
  summary.trials = 7;
  summary.best_seconds = 0.5;
  summary.best_config = "secret=4x4";
  summary.by_status = {{"ok", 7}};
  summary.model = wire::ModelSummary{0.5, 1, 1, 0, {{"conv2d(secret)", 1, 0.5, 1, 7}}};
  fleet.tracker->session_message(id, summary, tenant);
}

TEST(Tenants, WhatASessionWorksOnIsToldToItsTenantAndAdministratorsAlone) {
  TenantsFleet fleet;
  tell_all(fleet, kAlice);
  const auto pages = [&](const gate::Viewer& viewer) {
    const wire::FleetStatus status = fleet.tracker->status(viewer);
    return state_json(status) + state_text(status) +
           session_detail_json(fleet.tracker->session_detail(status.sessions.at(0).id, viewer).value());
  };
  for (const char* other : {"tuner bob", "agent lab1", ""}) {
    EXPECT_THAT(pages({false, other}), testing::Not(HasSubstr("secret"))) << other;
    const wire::SessionStatus seen = fleet.tracker->status({false, other}).sessions.at(0);
    EXPECT_TRUE(seen.withheld && seen.curve.empty() && seen.summary == wire::Summary()) << other;
    EXPECT_EQ(seen.target_kind, "llvm") << "that it is there, and what it takes of the fleet, is seen";
    const auto detail = fleet.tracker->session_detail(seen.id, {false, other}).value();
    EXPECT_TRUE(detail.curve.empty() && detail.events.empty()) << other;
  }
  for (const gate::Viewer& viewer : {gate::Viewer{false, kAlice.name}, gate::Viewer{true, kBoss.name}}) {
    const std::string text = pages(viewer);
    for (const char* told :
         {"tuner alice, from secret-host", R"("owner":"tuner alice","host":"secret-host")", "secret-model.onnx",
          "llvm -mcpu=secret", "secret-lab", "project=secret", "secret=4x4", "conv2d(secret)"})
      EXPECT_THAT(text, HasSubstr(told)) << viewer.tenant;
    EXPECT_FALSE(fleet.tracker->status(viewer).sessions.at(0).withheld);
    EXPECT_EQ(fleet.tracker->status(viewer).sessions.at(0).curve.size(), 1u);
  }
}

TEST(Tenants, AnAdministratorCancelsASessionAndItsTunerIsTold) {
  TenantsFleet fleet;
  const auto a = fleet.agent("a", 1);
  const auto alice = fleet.open_for(kAlice, kSession), bob = fleet.open_for(kBob, wire::Uuid::random());
  fleet.submit(alice, 1, 3);
  fleet.submit(bob, 1);
  const auto lease = fleet.leases(a).at(0);
  std::string id;
  for (const auto& session : fleet.tracker->status({.admin = true}).sessions)
    if (session.session == kSession) id = session.id;
  const auto line = fleet.tracker->admin("cancel", id);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(*line, HasSubstr(id + " with 3 jobs"));
  const auto refused = fleet.take_session<wire::Refused>(alice);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].reason, "an administrator cancelled the session");
  EXPECT_FALSE(refused[0].retry);
  EXPECT_EQ(fleet.ids<wire::Cancel>(a), std::vector{lease.id});
  EXPECT_EQ(fleet.tracker->status().sessions.size(), 1u);
  EXPECT_THAT(fleet.refusal(fleet.open_for(kAlice, kSession)), HasSubstr("cancelled"))
      << "a tuner that was not connected is told when it comes back";
  EXPECT_TRUE(absl::IsNotFound(fleet.tracker->admin("cancel", id).status()));
  fleet.want(a, "a", 1);
  EXPECT_EQ(fleet.leases(a).size(), 1u) << "bob's";
}

TEST(Tenants, PriorityAndWeightAreWhatTheLineAllowsAndTheTunerIsTold) {
  TenantsFleet fleet;
  const gate::Tenant small{"tuner small", {.priority = 3, .weight = 2}};
  const auto greedy = fleet.open_for(small, kSession, 1e6, INT32_MAX),
             modest = fleet.open_for(small, wire::Uuid::random(), 2, 3);
  const auto notes = fleet.take_session<wire::SessionOpened>(greedy).at(0).notes;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0], "priority 2147483647 is more than the token's line allows; 3 is used (priority=)");
  EXPECT_EQ(notes[1], "weight 1000000 is more than the token's line allows; 2 is used (weight=)");
  EXPECT_TRUE(fleet.take_session<wire::SessionOpened>(modest).at(0).notes.empty());
  for (const auto& session : fleet.tracker->status().sessions) {
    EXPECT_EQ(session.weight, 2);
    EXPECT_EQ(session.priority, 3);
  }
}

TEST(Tenants, ATokenHasSoManySessionsAndNoMore) {
  TenantsFleet fleet;
  const gate::Tenant two{"tuner two", {.sessions = 2}};
  const auto first = fleet.open_for(two, kSession);
  fleet.open_for(two, wire::Uuid::random());
  const auto third = fleet.open_for(two, wire::Uuid::random());
  EXPECT_EQ(fleet.refusal(third), "the token has 2 sessions, the most that its line allows (sessions=)");
  EXPECT_EQ(fleet.refusal(fleet.open_for(kAlice, wire::Uuid::random())), "") << "others may";
  fleet.tracker->session_gone(first);
  EXPECT_EQ(fleet.refusal(fleet.open_for(two, kSession)), "") << "its own come back";
}

TEST(Tenants, ATokenHasSoManyBytesAndNoMore) {
  TenantsFleet fleet;
  const gate::Tenant small{"tuner small", {.bytes = 8 << 20}};
  const auto hog = fleet.open_for(small, kSession), alice = fleet.open_for(kAlice, wire::Uuid::random());
  wire::Submit submit;
  for (uint64_t seq = 1; seq <= 16; ++seq) {
    wire::Job job = FakeFleet::job(seq);
    job.fake->padding.assign(1 << 20, 'x');
    submit.jobs.push_back(job);
  }
  fleet.tracker->session_message(hog, submit);
  const auto refused = fleet.take_session<wire::Refused>(hog);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_THAT(
      refused[0].reason,
      HasSubstr(
          "no memory for the session's jobs: of the tracker's memory the token may use 8 MiB (bytes= in its line)"));
  EXPECT_LE(fleet.tracker->memory().used(), (8u << 20) + (1u << 20));
  fleet.submit(alice, 1, 8);
  EXPECT_EQ(fleet.refusal(alice), "") << "others have theirs";
  fleet.pass(60s);
  EXPECT_EQ(fleet.tracker->status().sessions.size(), 1u);
  EXPECT_LT(fleet.tracker->memory().used(), 1u << 20) << "what the session took is given back with it";
}

TEST(Tenants, ReferencesCountOnceAndResultsAreNoLargerThanTheirProfile) {
  TenantsFleet fleet;
  const auto a = fleet.agent("a", 64);
  const auto session = fleet.open_for({"tuner small", {.bytes = 8 << 20}}, kSession);
  wire::Submit submit;
  for (uint64_t seq = 1; seq <= 64; ++seq) {
    wire::Job job = FakeFleet::job(seq);
    job.reference = wire::Reference{};
    job.reference->samples = {std::vector<int64_t>(1 << 17, 1)};
    submit.jobs.push_back(job);
  }
  fleet.tracker->session_message(session, submit);
  EXPECT_EQ(fleet.refusal(session), "") << "one reference of a megabyte, 64 times";
  const auto lease = fleet.leases(a).at(0);
  auto result = FakeFleet::result(lease.id, "a/cpu");
  result.candidates[0].times.assign(10000, 1e-3);
  fleet.tracker->agent_message(a, wire::AgentResults{{result}, {lease.id}});
  EXPECT_EQ(fleet.results(session).at(0).candidates.at(0).times.size(), 10u)
      << "the repeats that the job asked for at most";
}

TEST(Tenants, JobsThatMeasureNothingNeedAFlag) {
  FakeClock clock;
  Recorder out;
  class Tracker tracker({}, clock, out);
  wire::SessionOpen open;
  open.session = kSession;
  tracker.session_message(1, open);
  tracker.session_message(1, wire::Submit{{FakeFleet::job(1)}});
  ASSERT_EQ(out.sessions[1].size(), 2u);
  const auto* refused = std::get_if<wire::Refused>(&out.sessions[1].back());
  ASSERT_NE(refused, nullptr);
  EXPECT_THAT(refused->reason, HasSubstr("--allow-fake"));
  EXPECT_FALSE(refused->retry);
}

TEST(Tenants, AnAgentsDevicesAreChargedToItsToken) {
  TenantsFleet fleet;
  wire::AgentHello hello = fleet.hello("fat");
  for (int i = 0; i < 255; ++i) hello.devices.push_back(FakeFleet::device("fat/gpu" + std::to_string(i)));
  fleet.tracker->agent_message(1, hello, {"agent *", {.bytes = 4 << 20}});
  const auto refused = fleet.take_agent<wire::Refused>(1);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_THAT(refused[0].reason, HasSubstr("no memory for its devices"));
  EXPECT_TRUE(fleet.tracker->status().devices.empty());
}

TEST(MemoryBudget, SharesAreBoundedEachAndTogether) {
  MemoryBudget budget(1000, 600);
  const auto a = budget.account("a"), b = budget.account("b"), c = budget.account("c", 50);
  auto held = a->take(600);
  ASSERT_TRUE(held);
  EXPECT_FALSE(a->take(1));
  EXPECT_FALSE(b->take(401)) << "a has the rest";
  EXPECT_TRUE(b->take(400)) << "given back at once";
  EXPECT_FALSE(c->take(51));
  EXPECT_EQ(budget.used(), 600u);
  EXPECT_EQ(budget.account("a"), a) << "the same while somebody has it";
  held.reset();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryPlan, ItsPartsFitTheWhole) {
  for (const size_t total : {size_t{1}, MemoryPlan::kLeast, size_t{8} << 30}) {
    const MemoryPlan plan = MemoryPlan::of(total);
    EXPECT_LE(plan.grpc + plan.blobs + plan.peers + 2 * plan.message, std::max(total, MemoryPlan::kLeast))
        << "a message, and what is made of it";
    EXPECT_GE(plan.message, wire::kMaxBlobBytes + (1 << 20)) << "the largest blob there may be";
    EXPECT_GE(plan.blobs, wire::kMaxBlobBytes + (1 << 20));
  }
  EXPECT_GE(default_memory_budget(), MemoryPlan::kLeast);
}

}  // namespace
}  // namespace hone::tracker
