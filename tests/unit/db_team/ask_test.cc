// Answers to builds: bests of each owner, other targets, nearest workloads, choices, definitions, misses.
#include "base/key.h"
#include "team_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class AskTeam : public TeamStoreTest {};
HONE_BOTH_STORES(AskTeam);

std::string dense(int m, const std::string& dtype = "f32", const std::string& epilogue = "none") {
  return "dense(m=" + std::to_string(m) + ",n=768,k=768,dtype=" + dtype + ",epilogue=" + epilogue + ")";
}

TEST_P(AskTeam, TellsAllOfABest) {
  TrialRow t = disturbed(confirmed(team_trial("s1", 4, 1e-3, "tile=7")), 2e-3);
  t.candidate = 2;
  t.missing = "seccomp";
  t.machine = MachineState{"performance", std::nullopt, 70, std::nullopt, 1500, "thermal"};
  add({.trials = {t, team_trial("s1", 5, 5e-3), failed(team_trial("s1", 6, 1))}}, kAnn);
  const TeamAnswer answer = ask(kBob);
  ASSERT_THAT(answer.bests, SizeIs(1));
  EXPECT_EQ(answer.bests[0].owner, "tuner ann");
  EXPECT_EQ(answer.bests[0].trials, 2);
  BestRow b;
  b.workload = t.workload, b.target = t.target, b.in_layout = t.in_layout, b.out_layout = t.out_layout;
  b.space = t.space, b.template_name = t.template_name, b.template_revision = t.template_revision;
  b.config = t.config, b.seconds = 1e-3, b.spread = spread_of(t.times);
  b.confirmed = b.disturbed = true, b.default_seconds = 2e-3, b.sentinel = t.sentinel_after;
  b.device = t.device, b.device_model = t.device_model, b.profile = t.profile;
  b.missing = t.missing, b.machine = t.machine;
  b.hone_version = t.hone_version, b.codegen_version = t.codegen_version, b.module_hash = t.module_hash;
  b.session = t.session, b.seq = t.seq, b.candidate = t.candidate, b.updated_at = t.created_at;
  EXPECT_EQ(answer.bests[0].row, b);
}

TEST_P(AskTeam, KeepsABestOfEachOwnerSoThatNoLieHidesAnother) {
  add({.trials = {confirmed(team_trial("s1", 0, 1e-3, "tile=1"))}}, kAnn);
  add({.trials = {confirmed(team_trial("s2", 0, 1e-9, "tile=2"))}}, kBob);
  const TeamAnswer answer = ask(kAnn);
  EXPECT_THAT(owners(answer), UnorderedElementsAre("tuner ann", "tuner bob"));
  EXPECT_THAT(configs(answer), UnorderedElementsAre("tile=1", "tile=2"));
}

TEST_P(AskTeam, TakesTheBestByItsClass) {
  const auto best = [&](const std::string& session, std::vector<TrialRow> trials) {
    const TeamPeer peer{"tuner " + session};
    add({.trials = std::move(trials)}, peer);
    for (const TeamBest& b : ask(peer).bests)
      if (b.owner == peer.tenant) return b.row.config;
    return std::string();
  };
  EXPECT_EQ(best("a", {team_trial("a", 0, 1e-3, "t=0"), team_trial("a", 1, 5e-4, "t=1")}), "t=1");
  EXPECT_EQ(best("b", {confirmed(team_trial("b", 0, 2e-3, "t=0")), team_trial("b", 1, 5e-4, "t=1")}), "t=0");
  EXPECT_EQ(best("c", {disturbed(confirmed(team_trial("c", 0, 2e-3, "t=0"))), team_trial("c", 1, 5e-4, "t=1")}), "t=0");
  EXPECT_EQ(best("d", {disturbed(team_trial("d", 0, 1e-4, "t=0")), team_trial("d", 1, 5e-4, "t=1")}), "t=1");
  // Disturbed confirmations by their share of the default's time.
  EXPECT_EQ(best("e", {disturbed(confirmed(team_trial("e", 0, 1e-3, "t=0")), 1e-3),
                       disturbed(confirmed(team_trial("e", 1, 2e-3, "t=1")), 8e-3)}),
            "t=1");
  // The latest confirmation of a config counts, not its best one.
  EXPECT_EQ(best("f", {confirmed(team_trial("f", 0, 1e-3, "t=0")), confirmed(team_trial("f", 1, 3e-3, "t=0")),
                       confirmed(team_trial("f", 2, 2e-3, "t=1"))}),
            "t=1");
  TrialRow censored = team_trial("g", 0, 1e-4, "t=0");
  censored.censored = true;
  EXPECT_EQ(best("g", {censored, team_trial("g", 1, 5e-4, "t=1")}), "t=1");
}

TEST_P(AskTeam, TellsOtherTargetsOfTheKindAlone) {
  add({.trials = {of_workload(team_trial("s1", 0, 1e-3, "t=0"), kTeamDense, kSkylake),
                  of_workload(team_trial("s1", 1, 1e-3, "t=1"), kTeamDense, kGpu)}},
      kAnn);
  EXPECT_THAT(configs(ask(kAnn)), ElementsAre("t=0"));
  EXPECT_THAT(configs(ask(kAnn, {{kTeamDense, kGpu}})), ElementsAre("t=1"));
}

// Made-up targets, with many spaces or very much like the one that is asked for, push nobody's out of an answer.
TEST_P(AskTeam, NobodysTargetsPushOutAnothers) {
  add({.trials = {confirmed(of_workload(team_trial("s1", 0, 1e-3, "tile=1"), kTeamDense, kSkylake))}}, kAnn);
  RecordSet made_up;
  for (int i = 0; i < 40; ++i)
    for (int space = 0; space < 8; ++space) {
      const std::string target =
          i % 2 ? "llvm -mcpu=made" + std::to_string(i) : std::string(kZen) + " -mattr=+made" + std::to_string(i);
      TrialRow t = confirmed(of_workload(team_trial("s2", i * 8 + space, 1e-8, "tile=2"), kTeamDense, target));
      t.target = to_string(*parse_target_key(target));
      t.space = "feed000" + std::to_string(space);
      made_up.trials.push_back(t);
    }
  add(made_up, kBob);
  EXPECT_THAT(configs(ask(kBob)), testing::Contains("tile=1"));
}

TEST_P(AskTeam, AnswersManyKeysOnceEach) {
  RecordSet r;
  std::vector<TeamKey> keys;
  for (int m = 1; m <= 300; ++m) {
    r.trials.push_back(of_workload(team_trial("s1", m, 1e-3, "t=" + std::to_string(m)), dense(m)));
    keys.push_back({dense(m), kZen});
    keys.push_back({dense(m), kSkylake});
    keys.push_back({dense(m), kZen});
  }
  add(r, kAnn);
  EXPECT_THAT(ask(kAnn, keys).bests, SizeIs(300));
  EXPECT_THAT(ask(kAnn, {}).bests, IsEmpty());
  keys.resize(kMostTeamKeys + 1, {dense(1), kZen});
  EXPECT_TRUE(absl::IsInvalidArgument(store_->ask({keys, false}, kAnn, kNow).status()));
}

TEST_P(AskTeam, RefusesKeysThatAreNone) {
  for (const TeamKey& key : std::vector<TeamKey>{
           {"dense", kZen}, {"dense( m=1)", kZen}, {kTeamDense, "llvm  -a=b"}, {"", ""}, {"dense(m=\xff)", kZen}}) {
    const auto answer = store_->ask({{key}, true}, kAnn, kNow);
    EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << key.workload << ": " << answer.status();
  }
  EXPECT_THAT(misses(), IsEmpty());
}

TEST_P(AskTeam, FindsNearestWorkloadsByAllTheirNumbers) {
  RecordSet r;
  int seq = 0;
  const auto known = [&](const std::string& workload, const std::string& target = kZen) {
    r.trials.push_back(of_workload(team_trial("s1", seq++, 1e-3), workload, target));
  };
  for (const int m : {1, 64, 100, 120, 256, 4096}) known(dense(m));
  known(dense(128, "bf16"));  // another text
  known("batch_dense(b=1,m=128,n=768,k=768,dtype=f32,epilogue=none)");
  known("dense(m=128,n=768,dtype=f32,epilogue=none)");
  known(dense(128, "f32", "relu"));  // another epilogue may stand for it
  known(dense(127), kGpu);
  known("dense(m=768,n=128,k=768,dtype=f32,epilogue=none)");  // as large, and far away
  add(r, kAnn);
  const auto near = [&](const std::vector<TeamKey>& keys) {
    std::set<std::string> out;
    for (const TeamBest& b : ask(kBob, keys, true).bests) out.insert(b.row.workload);
    return out;
  };
  EXPECT_EQ(near({{kTeamDense, kZen}}),
            (std::set<std::string>{dense(1), dense(64), dense(100), dense(120), dense(256), dense(4096),
                                   dense(128, "f32", "relu"), "dense(m=768,n=128,k=768,dtype=f32,epilogue=none)"}));
  EXPECT_THAT(ask(kBob, {{kTeamDense, kZen}}, false).bests, IsEmpty());
  EXPECT_THAT(near({{dense(64), kZen}}), ElementsAre(dense(64))) << "a row of its own is enough";
  // Among many the nearest.
  RecordSet many;
  for (int m = 1000; m < 1300; ++m) many.trials.push_back(of_workload(team_trial("s2", m, 1e-3), dense(m)));
  add(many, kAnn);
  const auto some = near({{dense(130), kZen}});
  EXPECT_THAT(some, SizeIs(8));
  EXPECT_TRUE(some.contains(dense(120)) && some.contains(dense(100)) && some.contains(dense(256)));
  EXPECT_FALSE(some.contains(dense(1299)));
}

TEST_P(AskTeam, TellsChoicesBesideTheBestsOfTheirOwner) {
  add({.trials = {confirmed(team_trial("s1", 0, 1e-3, "tile=2"))},
       .choices = {team_choice("tile=1", "tile=2"), team_choice("tile=1", "tile=5")}},
      kAnn);
  add({.trials = {confirmed(team_trial("s2", 0, 1e-3, "tile=3"))}, .choices = {team_choice("tile=9", "tile=2")}}, kBob);
  const TeamAnswer answer = ask(kBob);
  ASSERT_THAT(answer.choices, SizeIs(1)) << "bob's is about a best that is not his";
  EXPECT_EQ(answer.choices[0], (TeamChoice{team_choice("tile=1", "tile=2"), "tuner ann"}));
}

TEST_P(AskTeam, TellsDefinitionsThatBestsAndChoicesName) {
  const std::string kernel = "kernel text", other = "other text", unnamed = "unnamed";
  TrialRow t = team_trial("s1", 0, 1e-3, "text(" + key_hash(kernel) + ")");
  t.space = "text";
  ChoiceRow c = team_choice("text(" + key_hash(other) + ")", t.config);
  c.space = "text";
  add({.trials = {t},
       .choices = {c},
       .definitions = {{key_hash(kernel), "kernel", kernel},
                       {key_hash(other), "kernel", other},
                       {key_hash(unnamed), "kernel", unnamed}}},
      kAnn);
  std::vector<std::string> texts;
  for (const DefinitionRow& d : ask(kBob).definitions) texts.push_back(d.text);
  EXPECT_THAT(texts, UnorderedElementsAre(kernel, other));
  add({.definitions = {{key_hash(kernel), "kernel", kernel}}}, kBob);
  EXPECT_THAT(ask(kBob).definitions, SizeIs(2)) << "each once";
}

TEST_P(AskTeam, CountsMissesUntilARowComes) {
  add({.trials = {of_workload(team_trial("s1", 0, 1e-3), kTeamDense, kSkylake)}}, kAnn);
  ask(kAnn, {{kTeamDense, kZen}, {kTeamDense, kZen}, {kTeamDense, kSkylake}, {dense(5), kGpu}}, true);
  ASSERT_TRUE(store_->ask({{{kTeamDense, kZen}}, true}, kBob, kNow + 7).ok());
  EXPECT_THAT(misses(),
              ElementsAre(TeamMiss{{kTeamDense, kZen}, 2, kNow, kNow + 7}, TeamMiss{{dense(5), kGpu}, 1, kNow, kNow}));
  EXPECT_THAT(misses("llvm"), SizeIs(1));
  EXPECT_THAT(misses("", 1), SizeIs(1));
  add({.trials = {failed(team_trial("s1", 1, 1))}}, kAnn);
  EXPECT_THAT(misses("llvm"), SizeIs(1)) << "what failed answers nothing";
  add({.trials = {team_trial("s1", 2, 1e-3)}}, kAnn);
  EXPECT_THAT(misses("llvm"), IsEmpty());
  // Counted before the row came, and not yet written then.
  ask(kAnn, {{dense(6), kZen}});
  add({.trials = {of_workload(team_trial("s1", 3, 1e-3), dense(6))}}, kAnn);
  EXPECT_THAT(misses("llvm"), IsEmpty());
}

TEST_P(AskTeam, TellsThePeersOwnPriorThenTheLatest) {
  const PriorRow p = team_prior("b");
  EXPECT_EQ(*store_->prior("llvm", p.schema, kAnn), std::nullopt);
  PriorRow late = team_prior("late");
  late.created_at += 5;
  add({.priors = {p}}, kAnn);
  add({.priors = {late}}, kBob);
  EXPECT_EQ(*store_->prior("llvm", p.schema, kAnn), p);
  EXPECT_EQ(*store_->prior("llvm", p.schema, kAdmin), late);
  EXPECT_EQ(*store_->prior("llvm", "ff", kAnn), std::nullopt);
  EXPECT_EQ(*store_->prior("cuda", p.schema, kAnn), std::nullopt);
}

}  // namespace
}  // namespace hone::db
