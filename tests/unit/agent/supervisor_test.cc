#include "rpc/agent/supervise/supervisor.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/hash_collision.h"

namespace hone::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using wire::LeaseId;
using wire::ResultStatus;

// Builds and runs at once, or when the test says so.
class FakeMeasurer final : public Measurer {
 public:
  explicit FakeMeasurer(asio::io_context& io) : gate_(io) {}

  awaitable<BuildOutcome> build(BuildOrder order) override {
    const std::string* module = order.module.get();
    builds.push_back(*module);
    orders.push_back(order);
    BuildOutcome out;
    out.seconds = 0.5;
    if (module->starts_with("bad")) {
      out.status = ResultStatus::kRejected;
      out.message = "no good";
    } else {
      auto file = std::make_shared<BuiltFile>();
      file->module.info.params = {{*module, ParamRole::kOutput, f32, {1}, Layout::identity({1})}};
      out.file = file;
    }
    co_return out;
  }
  awaitable<RunReply> run(RunRequest request) override {
    RunReply reply = this->reply;
    reply.run_seconds = 0.25;
    cancelled = false;
    requests.push_back(request);
    for (const BuiltModule& m : request.candidates) {
      runs.push_back(m.info.params[0].name);
      wire::CandidateResult r;
      r.status = status;
      r.times = {static_cast<double>(runs.size())};
      reply.candidates.push_back(r);
    }
    if (on_run) on_run();
    while (blocked && !cancelled) co_await gate_.wait();
    if (cancelled)
      for (wire::CandidateResult& r : reply.candidates) r.status = ResultStatus::kCancelled;
    co_return reply;
  }
  void cancel_run() override {
    cancelled = true;
    gate_.notify();
  }
  void unblock() {
    blocked = false;
    gate_.notify();
  }

  std::vector<std::string> builds, runs;
  std::vector<BuildOrder> orders;
  std::vector<RunRequest> requests;
  ResultStatus status = ResultStatus::kOk;  ///< of every candidate
  RunReply reply;                           ///< what every run says beside its candidates
  bool blocked = false, cancelled = false;
  std::function<void()> on_run;

 private:
  Event gate_;
};

class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() {
    TrackerLink link;
    link.want = [this](uint32_t n) { wanted += n; };
    link.result = [this](const LeaseId& id, wire::JobResult r) { results[id.seq] = std::move(r); };
    link.give_back = [this](const std::vector<LeaseId>& ids, const std::string&) {
      for (const LeaseId& id : ids) returned.push_back(id.seq);
    };
    link.request_blobs = [this](std::vector<Hash128> hashes, TrackerLink::BlobReply reply) {
      ++blob_requests;
      EXPECT_EQ(std::set<Hash128>(hashes.begin(), hashes.end()).size(), hashes.size()) << "asked for twice at once";
      if (hold_blobs) {
        held_reply = [this, hashes, reply] { answer(hashes, reply); };
        return;
      }
      std::vector<Hash128> now;
      for (const Hash128 h : hashes) (silent.contains(h) ? unanswered : now).push_back(h);
      if (now.size() < hashes.size()) held_reply = [this, reply] { answer(std::exchange(unanswered, {}), reply); };
      if (!now.empty()) answer(now, reply);
    };
    SupervisorOptions options;
    options.device = "a/cpu";
    options.batch = 4;
    options.allow_fake = true;
    options.blob_bytes = 4096;
    options.throttled = [this] { return throttled ? throttled() : ""; };
    options.most_throttled_s = 2;
    supervisor.emplace(io, options, link, measurer, clock);
    supervisor->start();
  }

  void answer(const std::vector<Hash128>& hashes, const TrackerLink::BlobReply& reply) {
    std::vector<wire::Blob> found;
    std::vector<Hash128> missing;
    for (const Hash128 h : hashes) {
      if (blobs.contains(h))
        found.push_back({h, blobs[h]});
      else
        missing.push_back(h);
    }
    reply(found, missing);
  }

  wire::Lease lease(uint64_t seq, const std::vector<std::string>& modules) {
    wire::Lease l;
    l.id.seq = seq;
    l.device = "a/cpu";
    l.job.seq = seq;
    for (const std::string& m : modules) {
      blobs[wire::blob_id(m)] = m;
      l.job.modules.push_back(wire::blob_id(m));
    }
    return l;
  }
  // A lease of another session than lease()'s.
  wire::Lease lease_of(uint8_t session, uint64_t seq, const std::vector<std::string>& modules) {
    wire::Lease l = lease(seq, modules);
    l.id.session.value[0] = session;
    return l;
  }
  void refer_to(wire::Lease* l, const std::string& module) {
    blobs[wire::blob_id(module)] = module;
    l->job.reference.emplace();
    l->job.reference->module_hash = wire::blob_id(module);
  }
  // Does what a timer would do.
  void pass(Clock::Duration time) {
    clock.advance(time);
    supervisor->on_leases({});
    settle();
  }
  static LeaseId id(uint64_t seq) {
    LeaseId l;
    l.seq = seq;
    return l;
  }
  static LeaseId id_of(uint8_t session, uint64_t seq) {
    LeaseId l = id(seq);
    l.session.value[0] = session;
    return l;
  }

  // Until nothing more happens by itself.
  void settle() {
    io.restart();
    io.poll();
  }

  // For what a real timer ends.
  void settle_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) settle();
  }

  asio::io_context io;
  FakeClock clock;
  std::function<std::string()> throttled;
  FakeMeasurer measurer{io};
  std::map<Hash128, std::string> blobs;
  bool hold_blobs = false;
  std::set<Hash128> silent;  ///< blobs that are never answered
  std::vector<Hash128> unanswered;
  std::function<void()> held_reply;
  int blob_requests = 0;
  uint32_t wanted = 0;
  std::map<uint64_t, wire::JobResult> results;
  std::vector<uint64_t> returned;
  std::optional<Supervisor> supervisor;
};

TEST_F(SupervisorTest, WantsTwoBatchesAndOneMoreForEachResult) {
  settle();
  EXPECT_EQ(wanted, 8u);
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"y"})});
  settle();
  EXPECT_EQ(wanted, 10u);
  EXPECT_THAT(results, SizeIs(2));
}

TEST_F(SupervisorTest, WaitsUntilAHotMachineIsCool) {
  int asked = 0;
  throttled = [&] { return ++asked <= 2 ? "thermal" : ""; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_THAT(measurer.runs, IsEmpty()) << "it is hot";
  settle_until([&] { return !results.empty(); });
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_FALSE(results[1].drifted);
}

TEST_F(SupervisorTest, MarksWhatAMachineThatStaysHotMeasures) {
  throttled = [] { return "thermal"; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_THAT(measurer.runs, IsEmpty());
  clock.advance(std::chrono::seconds(3));
  settle_until([&] { return !results.empty(); });
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_TRUE(results[1].drifted);
  supervisor->on_leases({lease(2, {"y"})});
  settle();
  ASSERT_THAT(results, SizeIs(2)) << "it is waited for once";
  EXPECT_TRUE(results[2].drifted);
  throttled = nullptr;
  supervisor->on_leases({lease(3, {"z"})});
  settle();
  EXPECT_FALSE(results[3].drifted);
}

TEST_F(SupervisorTest, MarksARunThatHeatedTheMachine) {
  bool is_hot = false;
  throttled = [&] { return is_hot ? "undervoltage" : ""; };
  measurer.on_run = [&] { is_hot = true; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_TRUE(results[1].drifted);
}

TEST_F(SupervisorTest, BuildsTheWholeBatchBeforeItRuns) {
  measurer.on_run = [&] { EXPECT_THAT(measurer.builds, SizeIs(3)); };
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"y"}), lease(3, {"z"})});
  settle();
  EXPECT_THAT(measurer.runs, ElementsAre("x", "y", "z"));
  EXPECT_EQ(results[1].device, "a/cpu");
  EXPECT_EQ(results[1].phases.build, 0.5);
  EXPECT_EQ(results[1].phases.run, 0.25);
}

TEST_F(SupervisorTest, BuildsAModuleOnceHoweverOftenItIsNamed) {
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"x", "y"})});
  settle();
  supervisor->on_leases({lease(3, {"y"})});
  settle();
  EXPECT_THAT(measurer.builds, UnorderedElementsAre("x", "y"));
  EXPECT_EQ(blob_requests, 1);
  EXPECT_EQ(results[3].phases.build, 0);
}

TEST_F(SupervisorTest, ReportsWhatCannotBeBuiltWithoutRunningIt) {
  supervisor->on_leases({lease(1, {"bad"}), lease(2, {"x", "bad2"})});
  settle();
  EXPECT_EQ(results[1].candidates[0].status, ResultStatus::kRejected);
  EXPECT_EQ(results[1].candidates[0].message, "no good");
  EXPECT_EQ(results[2].candidates[0].status, ResultStatus::kOk);
  EXPECT_EQ(results[2].candidates[1].status, ResultStatus::kRejected);
  EXPECT_THAT(measurer.runs, ElementsAre("x"));
}

TEST_F(SupervisorTest, ABadReferenceFailsItsCandidates) {
  wire::Lease l = lease(1, {"x"});
  blobs[wire::blob_id("bad reference")] = "bad reference";
  l.job.reference.emplace();
  l.job.reference->module_hash = wire::blob_id("bad reference");
  supervisor->on_leases({l});
  settle();
  EXPECT_EQ(results[1].candidates[0].status, ResultStatus::kRejected);
  EXPECT_EQ(results[1].candidates[0].message, "reference: no good");
  EXPECT_THAT(measurer.runs, IsEmpty());
}

TEST_F(SupervisorTest, SaysWhichBlobNobodyHas) {
  wire::Lease l = lease(1, {"x"});
  blobs.clear();
  supervisor->on_leases({l});
  settle();
  EXPECT_EQ(results[1].candidates[0].status, ResultStatus::kBuildFailed);
  EXPECT_THAT(results[1].candidates[0].message, HasSubstr(wire::blob_id("x").hex()));
}

TEST_F(SupervisorTest, CountsTheTransferFromTheLease) {
  hold_blobs = true;
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_THAT(measurer.builds, IsEmpty());
  clock.advance(std::chrono::seconds(2));
  held_reply();
  settle();
  EXPECT_EQ(results[1].phases.transfer, 2);
}

TEST_F(SupervisorTest, CountsIdleTimeOnceABatchAndNotBetweenSessions) {
  settle();
  clock.advance(std::chrono::seconds(5));
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  clock.advance(std::chrono::seconds(2));
  supervisor->on_leases({lease(2, {"y"}), lease(3, {"z"})});
  settle();
  clock.advance(std::chrono::seconds(9));
  wire::Lease other = lease(4, {"u"});
  other.id.session.value[0] = 1;
  supervisor->on_leases({other});
  settle();
  EXPECT_EQ(results[1].phases.idle, 0);  // the first of its session
  EXPECT_EQ(results[2].phases.idle, 2);
  EXPECT_EQ(results[3].phases.idle, 0);
  EXPECT_EQ(results[4].phases.idle, 0);
}

TEST_F(SupervisorTest, CancelledLeasesAreNeitherRunNorReported) {
  hold_blobs = true;
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"y"})});
  settle();
  supervisor->on_cancel({id(1)});
  EXPECT_EQ(wanted, 9u);
  held_reply();
  settle();
  EXPECT_THAT(measurer.runs, ElementsAre("y"));
  EXPECT_FALSE(results.contains(1));
}

TEST_F(SupervisorTest, CancelStopsWhatRuns) {
  measurer.blocked = true;
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"y"})});
  settle();
  ASSERT_THAT(measurer.runs, ElementsAre("x"));
  measurer.on_run = [&] { measurer.blocked = false; };
  supervisor->on_cancel({id(1)});
  settle();
  EXPECT_THAT(measurer.runs, ElementsAre("x", "y"));
  EXPECT_FALSE(results.contains(1));
  EXPECT_TRUE(results.contains(2));
}

TEST_F(SupervisorTest, TakeBackReturnsWhatIsNotInTheBatch) {
  measurer.blocked = true;
  std::vector<wire::Lease> leases;
  for (uint64_t seq = 1; seq <= 6; ++seq) leases.push_back(lease(seq, {"m" + std::to_string(seq)}));
  supervisor->on_leases(leases);
  settle();
  supervisor->on_take_back({id(2), id(5), id(6)});
  EXPECT_THAT(returned, ElementsAre(5, 6));
  measurer.unblock();
  settle();
  EXPECT_THAT(results, SizeIs(4));
}

TEST_F(SupervisorTest, PassesOnWhatTheRunSaysOfTheMachine) {
  measurer.reply.sentinel_before = 1e-5;
  measurer.reply.sentinel_after = 2e-5;
  measurer.reply.drifted = true;
  measurer.reply.remeasured = 7;
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_EQ(results[1].sentinel_before, 1e-5);
  EXPECT_EQ(results[1].sentinel_after, 2e-5);
  EXPECT_TRUE(results[1].drifted);
  EXPECT_EQ(results[1].remeasured, 7u);
}

TEST_F(SupervisorTest, ReportsEachRunAtOnce) {
  measurer.on_run = [&] { EXPECT_EQ(results.size() + 1, measurer.runs.size()); };
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"y"}), lease(3, {"z"})});
  settle();
  EXPECT_THAT(results, SizeIs(3));
}

TEST_F(SupervisorTest, DrainReturnsTheUnstartedAndFinishesTheRunning) {
  measurer.blocked = true;
  std::vector<wire::Lease> leases;
  for (uint64_t seq = 1; seq <= 6; ++seq) leases.push_back(lease(seq, {"m" + std::to_string(seq)}));
  supervisor->on_leases(leases);
  settle();
  bool done = false;
  supervisor->drain([&] { done = true; });
  settle();
  EXPECT_THAT(returned, UnorderedElementsAre(2, 3, 4, 5, 6));
  EXPECT_FALSE(done);
  measurer.unblock();
  settle();
  EXPECT_TRUE(done);
  EXPECT_THAT(results, SizeIs(1));
  supervisor->on_leases({lease(7, {"late"})});
  EXPECT_THAT(returned, ::testing::Contains(7));
}

TEST_F(SupervisorTest, DrainOfAnIdleAgentIsImmediate) {
  settle();
  bool done = false;
  supervisor->drain([&] { done = true; });
  settle();
  EXPECT_TRUE(done);
}

TEST_F(SupervisorTest, PlaysFakeJobs) {
  wire::Lease l;
  l.id.seq = 1;
  l.job.fake = wire::FakePayload{.run_seconds = 0, .status = ResultStatus::kRunFailed};
  supervisor->on_leases({l});
  settle();
  EXPECT_EQ(results[1].candidates[0].status, ResultStatus::kRunFailed);
  EXPECT_THAT(measurer.runs, IsEmpty());
}

TEST_F(SupervisorTest, AModuleThatDoesNotComeCostsItsOwnJobOnly) {
  silent = {wire::blob_id("silence")};
  supervisor->on_leases(
      {lease_of(7, 1, {"silence"}), lease(2, {"x"}), lease_of(7, 3, {"silence", "y"}), lease(4, {"z"})});
  settle();
  EXPECT_THAT(measurer.builds, IsEmpty()) << "it may be about to come";
  pass(Supervisor::kGrace);
  EXPECT_THAT(results, UnorderedElementsAre(Key(2), Key(4)));
  // Jobs leased meanwhile do not wait.
  supervisor->on_leases({lease(5, {"u"})});
  settle();
  EXPECT_TRUE(results.contains(5));
  silent.clear();
  held_reply();
  settle();
  EXPECT_THAT(results, SizeIs(5));
  EXPECT_EQ(results[1].candidates[0].status, ResultStatus::kOk);
  EXPECT_EQ(results[3].candidates[1].status, ResultStatus::kOk);
}

TEST_F(SupervisorTest, WhatWaitsForItsModulesCanBeTakenBackAndCancelled) {
  silent = {wire::blob_id("silence")};
  supervisor->on_leases({lease_of(7, 1, {"silence"}), lease_of(7, 2, {"silence"}), lease(3, {"x"})});
  pass(Supervisor::kGrace);
  ASSERT_THAT(results, UnorderedElementsAre(Key(3)));
  const uint32_t before = wanted;
  supervisor->on_take_back({id_of(7, 1)});
  supervisor->on_cancel({id_of(7, 2)});
  EXPECT_THAT(returned, ElementsAre(1));
  EXPECT_EQ(wanted, before + 2);
  held_reply();
  settle();
  EXPECT_THAT(results, SizeIs(1));
}

// The session whose module another session's large ones have pushed out is silent when it is asked again.
TEST_F(SupervisorTest, AModuleThatDoesNotComeAgainCostsItsOwnJobOnly) {
  const std::string first(3000, 'a'), second(3000, 'b'), third(3000, 'c'), fourth(3000, 'd');
  blobs[wire::blob_id(first)] = first;
  hold_blobs = true;
  supervisor->on_leases({lease_of(7, 1, {first}), lease(2, {second, third}), lease(3, {fourth})});
  silent = {wire::blob_id(first)};
  hold_blobs = false;
  held_reply();
  settle();
  pass(Supervisor::kGrace);
  EXPECT_THAT(results, UnorderedElementsAre(Key(2), Key(3)));
  for (const wire::CandidateResult& c : results[2].candidates) EXPECT_EQ(c.status, ResultStatus::kOk) << c.message;
}

// The first answer came before another session named the module, which may have it.
TEST_F(SupervisorTest, WhatOneSessionLacksIsAskedForAgainOnAnothersBehalf) {
  hold_blobs = true;
  wire::Lease bad = lease_of(7, 1, {"x"});
  blobs.clear();
  supervisor->on_leases({bad});
  const auto first_answer = held_reply;
  clock.advance(std::chrono::milliseconds(1));
  supervisor->on_leases({lease(2, {"y"})});  // asks for y alone
  held_reply();
  wire::Lease good = lease(3, {"x"});
  supervisor->on_leases({good});
  blobs.erase(wire::blob_id("x"));
  first_answer();  // neither tracker nor session had x then
  blobs[wire::blob_id("x")] = "x";
  hold_blobs = false;
  settle();
  pass(Supervisor::kGrace);
  EXPECT_EQ(results[3].candidates.at(0).status, ResultStatus::kOk) << results[3].candidates[0].message;
}

// On GPUs a reference is built for the host, even if a candidate has the same module.
TEST_F(SupervisorTest, AReferenceAndACandidateOfOneModuleAreTwoBuilds) {
  supervisor->on_leases({lease(1, {"r"})});
  settle();
  wire::Lease l = lease(2, {"x"});
  refer_to(&l, "r");
  supervisor->on_leases({l});
  settle();
  EXPECT_THAT(measurer.builds, UnorderedElementsAre("r", "r", "x"));
  std::vector<BuildPurpose> purposes;
  for (const BuildOrder& o : measurer.orders)
    if (*o.module == "r") purposes.push_back(o.purpose);
  EXPECT_THAT(purposes, ElementsAre(BuildPurpose::kCandidate, BuildPurpose::kReference));
}

TEST_F(SupervisorTest, NoSessionGetsWhatAnothersBuilderMade) {
  wire::Lease mine = lease(1, {"x"}), theirs = lease_of(7, 2, {"x"});
  refer_to(&mine, "r");
  refer_to(&theirs, "r");
  supervisor->on_leases({mine, theirs});
  settle();
  EXPECT_THAT(measurer.builds, UnorderedElementsAre("x", "r", "x", "r"));
  for (const BuildOrder& o : measurer.orders)
    EXPECT_TRUE(o.session == mine.id.session || o.session == theirs.id.session);
  ASSERT_THAT(measurer.requests, SizeIs(2));
  EXPECT_NE(measurer.requests[0].reference->key, measurer.requests[1].reference->key);
  EXPECT_NE(measurer.requests[0].session, measurer.requests[1].session);
}

// Neither the module's hash nor the samples, which a session chooses, lead to another reference's values.
TEST_F(SupervisorTest, NoSamplesHaveAnotherReferencesKey) {
  const auto with = [&](uint64_t seq, uint32_t choice) {
    wire::Lease l = lease(seq, {"x"});
    refer_to(&l, "r");
    // Behind the module's hash, the seed and how many there are.
    const std::string bytes = colliding(std::string(4000, 'm'), choice, 16 + 8 + 8);
    std::vector<int64_t>& samples = l.job.reference->samples.emplace_back(bytes.size() / sizeof(int64_t));
    std::memcpy(samples.data(), bytes.data(), bytes.size());
    return l;
  };
  supervisor->on_leases({with(1, 1), with(2, 2)});
  settle();
  ASSERT_THAT(measurer.requests, SizeIs(2));
  ASSERT_NE(measurer.requests[0].reference->samples, measurer.requests[1].reference->samples);
  EXPECT_NE(measurer.requests[0].reference->key, measurer.requests[1].reference->key);
}

TEST_F(SupervisorTest, AJobGetsNoMoreTimeThanTheAgentGives) {
  wire::Lease day = lease(1, {"a", "b", "c"});
  day.job.profile.build_timeout_s = day.job.profile.run_timeout_s = 86400;
  day.job.profile.best_seconds = 1e300;  // a deadline is a multiple of it
  refer_to(&day, "r");
  day.job.reference->timeout_s = 86400;
  measurer.status = ResultStatus::kRunTimeout;
  supervisor->on_leases({day});
  settle();
  const SupervisorOptions standard;
  for (const BuildOrder& o : measurer.orders)
    EXPECT_DOUBLE_EQ(o.timeout_s,
                     o.purpose == BuildPurpose::kReference ? standard.most_build_s : standard.most_build_s / 3);
  ASSERT_THAT(measurer.requests, SizeIs(1));
  EXPECT_DOUBLE_EQ(measurer.requests[0].deadline(), standard.most_run_s / 3);
  EXPECT_EQ(measurer.requests[0].reference->timeout_s, standard.most_run_s);
  EXPECT_THAT(results[1].candidates.at(0).message, HasSubstr("this agent runs a job for 120 s at most"));
  supervisor->on_leases({lease(2, {"u"})});
  settle();
  EXPECT_EQ(measurer.orders.back().timeout_s, 10);
  EXPECT_EQ(measurer.requests.back().deadline(), 10);
  EXPECT_EQ(results[2].candidates.at(0).message, "") << "its own deadline";
}

TEST(BlobCache, DropsTheLeastRecentlyUsed) {
  BlobCache cache(10);
  cache.put({0, 1}, "12345");
  cache.put({0, 2}, "12345");
  EXPECT_NE(cache.get({0, 1}), nullptr);
  cache.put({0, 3}, "12345");
  EXPECT_EQ(cache.get({0, 2}), nullptr);
  EXPECT_NE(cache.get({0, 1}), nullptr);
  EXPECT_EQ(cache.bytes(), 10u);
  cache.put({0, 4}, std::string(100, 'x'));
  EXPECT_NE(cache.get({0, 4}), nullptr);
}

// More than it keeps for later.
TEST_F(SupervisorTest, EachOfMoreModulesThanAreKeptIsRun) {
  std::vector<wire::Lease> leases;
  for (uint64_t seq = 1; seq <= 4; ++seq) {
    std::vector<std::string> modules;
    for (int m = 0; m < 64; ++m) modules.push_back("module " + std::to_string(seq) + "/" + std::to_string(m));
    leases.push_back(lease(seq, modules));
  }
  supervisor->on_leases(leases);
  settle();
  EXPECT_THAT(results, SizeIs(4));
  EXPECT_THAT(measurer.runs, SizeIs(256));
  const size_t built = measurer.builds.size();
  supervisor->on_leases(leases);
  settle();
  EXPECT_EQ(measurer.builds.size(), built + 128) << "half of them were kept";
}

// One session's large modules take the place of another's.
TEST_F(SupervisorTest, AModuleThatWasPushedOutIsAskedForAgain) {
  const auto large = [](char c) { return std::string(3000, c); };
  supervisor->on_leases({lease(1, {large('a')}), lease(2, {large('b'), large('c')}), lease(3, {large('d')})});
  settle();
  for (uint64_t seq = 1; seq <= 3; ++seq)
    for (const wire::CandidateResult& c : results[seq].candidates)
      EXPECT_EQ(c.status, ResultStatus::kOk) << seq << ": " << c.message;
  EXPECT_THAT(measurer.runs, SizeIs(4));
}

}  // namespace
}  // namespace hone::agent
