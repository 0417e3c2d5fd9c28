#include "tests/unit/agent/supervisor_fixture.h"

namespace hone::agent {
namespace {

TEST_F(SupervisorTest, WantsTwoBatchesAndOneMoreForEachResult) {
  settle();
  EXPECT_EQ(wanted, 8u);
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"y"})});
  settle();
  EXPECT_EQ(wanted, 10u);
  EXPECT_THAT(results, SizeIs(2));
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
  EXPECT_THAT(results[1].candidates.at(0).message, HasSubstr("the agent's --max-run-timeout is 120 s"));
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
