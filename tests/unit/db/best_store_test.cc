#include "db/best_store.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "db/check.h"
#include "db/exchange.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string best_config(Store& store) {
  const auto rows = store.best().find(kDense, kTarget).value();
  return rows.empty() ? "none" : rows[0].config;
}

TEST(BestStore, TheFastestProvisionalTrialWins) {
  auto store = memory_store();
  EXPECT_EQ(add(*store, {ok_trial(0, 3, "a")}).best_changed, 1);
  EXPECT_EQ(add(*store, {ok_trial(1, 4, "b")}).best_changed, 0);
  EXPECT_EQ(add(*store, {ok_trial(2, 2, "c"), ok_trial(3, 2.5, "d")}).best_changed, 1);
  EXPECT_EQ(best_config(*store), "c");
}

TEST(BestStore, HoldsTheWholeTrial) {
  auto store = memory_store();
  TrialRow t = ok_trial(4, 2, "c");
  t.times = {1, 2, 3, 4, 5};
  t.seconds = 3;
  t.candidate = 1;
  add(*store, {t});
  const BestRow b = bests(*store).at(0);
  EXPECT_EQ(b.workload, t.workload);
  EXPECT_EQ(b.target, t.target);
  EXPECT_EQ(b.in_layout + b.out_layout, "MKMN");
  EXPECT_EQ(b.space, t.space);
  EXPECT_EQ(b.template_name, t.template_name);
  EXPECT_EQ(b.template_revision, 1);
  EXPECT_EQ(b.seconds, 3);
  EXPECT_DOUBLE_EQ(b.spread, 2.0 / 3);
  EXPECT_FALSE(b.confirmed);
  EXPECT_EQ(b.device + b.device_model + b.profile, t.device + t.device_model + t.profile);
  EXPECT_EQ(b.hone_version + b.codegen_version, "0.1.01");
  EXPECT_EQ(b.module_hash, t.module_hash);
  EXPECT_EQ(b.session, t.session);
  EXPECT_EQ(b.seq, 4);
  EXPECT_EQ(b.candidate, 1);
  EXPECT_EQ(b.updated_at, t.created_at);
}

TEST(BestStore, FailedAndCensoredTrialsNeverCount) {
  auto store = memory_store();
  TrialRow censored = ok_trial(1, 0.1, "censored");
  censored.censored = true;
  add(*store, {failed_trial(0, "wrong_result", "off by 1"), censored});
  EXPECT_EQ(best_config(*store), "none");
}

TEST(BestStore, ProvisionalNeverDisplacesConfirmed) {
  auto store = memory_store();
  add(*store, {ok_trial(0, 1, "lucky"), confirmed_trial(1, 3, "sound")});
  EXPECT_EQ(best_config(*store), "sound");
  EXPECT_EQ(add(*store, {ok_trial(2, 0.5, "luckier")}).best_changed, 0);
  EXPECT_EQ(best_config(*store), "sound");
}

TEST(BestStore, AConfirmedTrialReplacesASlowerConfirmedOne) {
  auto store = memory_store();
  add(*store, {confirmed_trial(0, 3, "a")});
  add(*store, {confirmed_trial(1, 4, "b")});
  EXPECT_EQ(best_config(*store), "a");
  add(*store, {confirmed_trial(2, 2, "c")});
  EXPECT_EQ(best_config(*store), "c");
}

TEST(BestStore, AConfigCountsWithItsLatestConfirmation) {
  auto store = memory_store();
  add(*store, {confirmed_trial(0, 1, "a"), confirmed_trial(1, 2, "b")});
  add(*store, {confirmed_trial(2, 1.5, "a")});
  EXPECT_EQ(best_config(*store), "a");
  EXPECT_EQ(bests(*store)[0].seconds, 1.5);
  add(*store, {confirmed_trial(3, 2.5, "a")});  // no longer the best
  EXPECT_EQ(best_config(*store), "b");
}

// A disturbed time is too long by an unknown amount; that it is shorter than a quiet one says nothing either: that was
// measured on another day.
TEST(BestStore, NoDisturbedTimeDisplacesAQuietOne) {
  auto store = memory_store();
  add(*store, {confirmed_trial(0, 3, "quiet"), disturbed(confirmed_trial(1, 2, "disturbed"), 8)});
  EXPECT_EQ(best_config(*store), "quiet");
  add(*store, {disturbed(confirmed_trial(2, 5, "quiet"), 9)});  // later, and slower: its own quiet time stays
  EXPECT_EQ(best_config(*store), "quiet");
  EXPECT_EQ(bests(*store)[0].seconds, 3);
  EXPECT_FALSE(bests(*store)[0].disturbed);
  add(*store, {disturbed(ok_trial(3, 1, "disturbed, once"))});
  EXPECT_EQ(best_config(*store), "quiet");
}

TEST(BestStore, OfProvisionalTrialsAQuietOneGoesFirst) {
  auto store = memory_store();
  add(*store, {disturbed(ok_trial(0, 1, "disturbed"))});
  EXPECT_EQ(best_config(*store), "disturbed") << "better than none";
  add(*store, {ok_trial(1, 2, "quiet")});
  EXPECT_EQ(best_config(*store), "quiet");
}

// Otherwise the few repeats that a neighbour left alone would beat all that was compared side by side.
TEST(BestStore, ADisturbedConfirmationGoesBeforeOneMeasurement) {
  auto store = memory_store();
  add(*store, {ok_trial(0, 2, "once"), disturbed(confirmed_trial(1, 3, "beside the others"), 6)});
  EXPECT_EQ(best_config(*store), "beside the others");
  EXPECT_EQ(bests(*store)[0].standing(), "confirmed, disturbed");
}

TEST(BestStore, DisturbedConfirmationsCompareByTheDefaultBesideThem) {
  auto store = memory_store();
  add(*store, {disturbed(confirmed_trial(0, 2, "a"), 4), disturbed(confirmed_trial(1, 3, "b"), 12),
               disturbed(confirmed_trial(2, 1, "alone"))});
  EXPECT_EQ(best_config(*store), "b") << "a quarter of the default; the one without a default comes last";
  EXPECT_EQ(bests(*store)[0].of_default(), 0.25);
  EXPECT_NEAR(*bests(*store)[0].of_sentinel(), 3 / 1.01e-4, 1e-6);
  add(*store, {disturbed(confirmed_trial(3, 3, "b"), 5)});  // its latest counts
  EXPECT_EQ(best_config(*store), "a");
}

TEST(BestStore, AQuietConfirmationTakesTheDisturbedOnesPlace) {
  auto store = memory_store();
  add(*store, {disturbed(confirmed_trial(0, 3, "a"), 12), disturbed(confirmed_trial(1, 2.9, "b"), 11)});
  add(*store, {confirmed_trial(2, 1.9, "a"), confirmed_trial(3, 1.8, "b")});
  EXPECT_EQ(best_config(*store), "b");
  EXPECT_EQ(bests(*store)[0].seconds, 1.8);
  EXPECT_EQ(bests(*store)[0].standing(), "confirmed");
  EXPECT_THAT(*store->best().stale(), IsEmpty());
  EXPECT_EQ(*store->best().rebuild(), 0);
}

TEST(BestStore, ListsLayoutsAndSpacesByClass) {
  auto store = memory_store();
  const auto in_space = [](TrialRow t, const std::string& space) { return t.space = space, t; };
  add(*store, {in_space(disturbed(ok_trial(0, 1, "4")), "s4"), in_space(ok_trial(1, 2, "3"), "s3"),
               in_space(disturbed(confirmed_trial(2, 3, "2b"), 3.5), "s2b"),
               in_space(disturbed(confirmed_trial(3, 4, "2a"), 9), "s2a"),
               in_space(disturbed(confirmed_trial(4, 0.5, "2c")), "s2c"), in_space(confirmed_trial(5, 5, "1"), "s1")});
  std::vector<std::string> found, listed;
  const std::vector<BestRow> rows = store->best().find(kDense, kTarget).value();
  for (const BestRow& row : rows) found.push_back(row.config);
  for (const BestRow& row : bests(*store)) listed.push_back(row.config);
  EXPECT_THAT(found, ElementsAre("1", "2a", "2b", "2c", "3", "4"));
  EXPECT_EQ(listed, found);
}

TEST(BestStore, IsKeptPerLayoutsAndSpace) {
  auto store = memory_store();
  TrialRow wide = ok_trial(0, 2, "wide"), narrow = ok_trial(1, 3, "narrow"), old = ok_trial(2, 1, "old");
  wide.in_layout = "NCHW16c";
  narrow.in_layout = "NCHW8c";
  old.space = "of another revision";
  add(*store, {wide, narrow, old});
  const auto configs = [](const std::vector<BestRow>& rows) {
    std::vector<std::string> names;
    for (const BestRow& row : rows) names.push_back(row.config);
    return names;
  };
  // The free query is the minimum over layouts; a row of another space does not hide the others.
  EXPECT_THAT(configs(*store->best().find(kDense, kTarget)), ElementsAre("old", "wide", "narrow"));
  EXPECT_THAT(configs(*store->best().find(kDense, kTarget, "NCHW8c")), ElementsAre("narrow"));
  EXPECT_THAT(configs(*store->best().find(kDense, kTarget, "NCHW16c", "MN")), ElementsAre("wide"));
  EXPECT_THAT(configs(*store->best().find(kDense, kTarget, "NCHW16c", "other")), IsEmpty());
  EXPECT_THAT(configs(*store->best().find(kDense, "llvm")), IsEmpty());
}

TEST(BestStore, ListsAndFilters) {
  auto store = memory_store();
  TrialRow conv = ok_trial(0, 1, "conv"), dense2 = ok_trial(1, 1, "dense2"), gpu = ok_trial(2, 1, "gpu");
  conv.workload = "conv2d(n=1)";
  dense2.workload = "dense2(m=1)";
  gpu.target = "cuda -arch=sm_90";
  add(*store, {conv, dense2, gpu, ok_trial(3, 1, "cpu")});
  const auto count = [&](const BestFilter& filter) { return store->best().list(filter)->size(); };
  EXPECT_EQ(count({}), 4u);
  EXPECT_EQ(count({.workload = kDense}), 2u);
  EXPECT_EQ(count({.task = "dense"}), 2u);
  EXPECT_EQ(count({.task = "dense", .target_kind = "cuda"}), 1u);
  EXPECT_EQ(count({.task = "dens"}), 0u);
  EXPECT_EQ(count({.target_kind = "cud"}), 0u);
  EXPECT_THAT(*store->best().workloads("dense", "llvm"), ElementsAre(kDense));
  EXPECT_THAT(*store->best().workloads("dense", "opencl"), IsEmpty());
}

TEST(BestStore, OtherTargetsComeMostAlikeFirst) {
  auto store = memory_store();
  std::vector<TrialRow> trials;
  for (const char* target :
       {"llvm -mtriple=x86_64-linux -mcpu=skylake -threads=8", "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=8",
        "llvm -mtriple=aarch64-linux -mcpu=a72 -threads=4", "cuda -arch=sm_90", kTarget}) {
    trials.push_back(ok_trial(static_cast<int64_t>(trials.size()), 1));
    trials.back().target = target;
  }
  add(*store, trials);
  EXPECT_THAT(*store->best().other_targets(kDense, kTarget),
              ElementsAre("llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=8",
                          "llvm -mtriple=x86_64-linux -mcpu=skylake -threads=8",
                          "llvm -mtriple=aarch64-linux -mcpu=a72 -threads=4"));
}

TEST(BestStore, ATargetThatSeveralSourcesKnowIsNoMoreAlike) {
  const std::string far = "llvm -mtriple=x86_64-linux -mcpu=skylake -threads=8",
                    near = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=8";
  std::vector<std::string> targets = {far, near, far, far};
  sort_by_likeness(targets, kTarget);
  EXPECT_THAT(targets, ElementsAre(near, far));
}

// The rule of best_store.h, written once more without SQL.
std::map<std::string, TrialRow> expected_bests(const std::vector<TrialRow>& trials) {
  std::map<std::string, std::vector<TrialRow>> by_key;
  for (const TrialRow& t : trials)
    if (t.status == "ok" && !t.censored) by_key[t.workload + "|" + t.space + "|" + t.in_layout].push_back(t);
  std::map<std::string, TrialRow> bests;
  for (auto& [key, rows] : by_key) {
    std::vector<TrialRow> pool;
    for (const bool confirmed : {true, false})
      for (const bool of_disturbed : {false, true}) {
        if (!pool.empty()) continue;
        std::map<std::string, TrialRow> latest;
        for (const TrialRow& t : rows) {
          if (t.confirmed != confirmed || t.disturbed != of_disturbed) continue;
          if (!confirmed) pool.push_back(t);
          const auto [it, fresh] = latest.emplace(t.config, t);
          if (!fresh && t.created_at > it->second.created_at) it->second = t;
        }
        if (confirmed)
          for (const auto& [config, t] : latest) pool.push_back(t);
      }
    const auto measure = [](const TrialRow& t) {
      return std::pair(t.disturbed && !t.default_seconds, *t.seconds / t.default_seconds.value_or(1));
    };
    bests.emplace(key, *std::min_element(pool.begin(), pool.end(), [&](const TrialRow& a, const TrialRow& b) {
                    return measure(a) < measure(b);
                  }));
  }
  return bests;
}

std::vector<TrialRow> random_trials(uint32_t seed, int n, int disturbed_of_ten = 0) {
  std::mt19937 random(seed);
  const auto pick = [&](uint32_t upto) { return static_cast<int64_t>(random() % upto); };
  std::vector<TrialRow> trials;
  for (int i = 0; i < n; ++i) {
    TrialRow t = ok_trial(i, 1 + static_cast<double>(random()) * 1e-9, "tile=" + std::to_string(pick(6)));
    t.workload = "dense(m=" + std::to_string(pick(3)) + ")";
    t.in_layout = pick(2) ? "A" : "B";
    t.space = pick(4) ? "new" : "old";
    t.confirmed = pick(3) == 0;
    t.censored = pick(8) == 0;
    t.disturbed = disturbed_of_ten > 0 && pick(10) < disturbed_of_ten;
    if (t.disturbed && t.confirmed && pick(4)) t.default_seconds = 1 + static_cast<double>(random()) * 1e-9;
    t.created_at = 1000 + (i * 7919) % 10007;  // distinct, in no order
    if (pick(6) == 0) t = failed_trial(i, "run_failed", "x");
    trials.push_back(t);
  }
  return trials;
}

TEST(BestStore, EqualsItsDefinitionInWhateverOrderTrialsCome) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    // Quiet, mixed, and with hardly anything or nothing quiet.
    const std::vector<TrialRow> trials = random_trials(seed, 200, std::array{0, 5, 9, 10}[seed % 4]);
    auto forward = memory_store(), backward = memory_store();
    for (size_t i = 0; i < trials.size(); i += 10)
      add(*forward, {trials.begin() + static_cast<long>(i), trials.begin() + static_cast<long>(i) + 10});
    for (size_t i = trials.size(); i-- > 0;) add(*backward, {trials[i]});
    EXPECT_EQ(bests(*forward), bests(*backward)) << "seed " << seed;
    const auto expected = expected_bests(trials);
    EXPECT_EQ(bests(*forward).size(), expected.size());
    for (const BestRow& b : bests(*forward))
      EXPECT_EQ(b.seq, expected.at(b.workload + "|" + b.space + "|" + b.in_layout).seq) << "seed " << seed;
  }
}

TEST(BestStore, RebuildingGivesWhatWasKept) {
  auto store = memory_store();
  for (const TrialRow& t : random_trials(1, 300)) add(*store, {t});
  const std::vector<BestRow> kept = bests(*store);
  ASSERT_GT(kept.size(), 5u);
  EXPECT_EQ(*store->best().rebuild(), 0);
  EXPECT_EQ(bests(*store), kept);
  EXPECT_THAT(*store->best().stale(), IsEmpty());
}

TEST(BestStore, RebuildingMendsWhatWasSpoiled) {
  auto store = memory_store();
  for (const TrialRow& t : random_trials(2, 300)) add(*store, {t});
  const std::vector<BestRow> kept = bests(*store);
  ASSERT_TRUE(
      store->database()
          .execute("DELETE FROM best WHERE key = (SELECT min(key) FROM best); "
                   "UPDATE best SET trial = (SELECT min(id) FROM trials) WHERE key = (SELECT max(key) FROM best)")
          .ok());
  EXPECT_EQ(store->best().stale()->size(), 2u);
  EXPECT_EQ(*store->best().rebuild(), 2);
  EXPECT_EQ(bests(*store), kept);
}

TEST(CheckStore, FindsWhatIsWrong) {
  auto store = memory_store();
  for (const TrialRow& t : random_trials(3, 50)) add(*store, {t});
  EXPECT_THAT(*check_store(*store), IsEmpty());
  const auto found_after = [&](const char* sql) {
    EXPECT_TRUE(store->database().execute("SAVEPOINT spoil; PRAGMA defer_foreign_keys = ON").ok());
    EXPECT_TRUE(store->database().execute(sql).ok());
    const std::vector<std::string> problems = check_store(*store).value();
    EXPECT_TRUE(store->database().execute("ROLLBACK TO spoil; RELEASE spoil").ok());
    return problems;
  };
  EXPECT_THAT(found_after("UPDATE trials SET times = '[oops' WHERE id = 5"),
              testing::Contains("trial 5: its times are not a JSON array"));
  EXPECT_THAT(found_after("UPDATE trials SET seconds = -1 WHERE id = (SELECT min(id) FROM trials WHERE status = 'ok')"),
              testing::Contains(testing::HasSubstr("a time of -1.0 s")));
  EXPECT_THAT(found_after("UPDATE trials SET status = 'ok', seconds = NULL WHERE status <> 'ok'"),
              testing::Contains(testing::HasSubstr("without a time")));
  EXPECT_THAT(
      found_after(
          "UPDATE trials SET seconds = 2 * seconds WHERE id = (SELECT min(id) FROM trials WHERE status = 'ok')"),
      testing::Contains(testing::HasSubstr("is not among its times")));
  EXPECT_THAT(found_after("INSERT INTO machine_states VALUES (7, '', 2000, NULL, -1, 1800, '')"),
              testing::Contains("trial 7: its machine had 2000.0 to ? °C and -1.0 to 1800.0 MHz"));
  EXPECT_THAT(found_after("INSERT INTO machine_states VALUES (7, '', NULL, -20, NULL, 1800, '')"), IsEmpty());
  EXPECT_THAT(found_after("DELETE FROM best WHERE key = 1"),
              testing::Contains(testing::HasSubstr("does not follow from the trials")));
  EXPECT_THAT(found_after("UPDATE trials SET origin = 999 WHERE id = 5"),
              testing::Contains(testing::HasSubstr("points to a missing row of origins")));
}

}  // namespace
}  // namespace hone::db
