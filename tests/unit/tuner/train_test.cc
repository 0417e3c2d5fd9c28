// Priors from the trials of a database.
#include "tuner/transfer/train.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "base/exit_code.h"
#include "base/hash.h"
#include "compiler/build/build.h"
#include "tests/fakes/workloads.h"
#include "tuner/features/stored.h"
#include "tuner/transfer/train_rows.h"
#include "tuner/transfer/warm_start.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr char kTrainedTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

std::unique_ptr<db::Store> memory_store() {
  db::OpenOptions options;
  options.mode = db::OpenMode::kMemory;
  return *db::Store::open("memory", options);
}

// Trials of a real space whose times a law gives that a model can learn: the more accumulated at once, the faster.
struct Lab {
  std::unique_ptr<db::Store> store = memory_store();
  int64_t seq = 0;

  static double seconds_of(const Features& f) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) sum += f[static_cast<size_t>(i)];
    return 1e-4 * std::exp2(sum / 20);
  }
  std::vector<db::TrialRow> trials(const std::string& workload, int n, bool with_features = true) {
    const Workload w = parse_workload(workload);
    const Target target = Target::parse(kTrainedTarget);
    const Space space = make_space(w, target);
    std::mt19937_64 rng(3);
    std::vector<db::TrialRow> rows;
    std::set<std::string> seen;
    while (static_cast<int>(rows.size()) < n) {
      const auto config = space.sample(rng);
      if (!seen.insert(space.print(*config)).second) continue;
      const Features f = features_of(lower_config(w, target, space, *config), target);
      db::TrialRow t;
      t.session = "s", t.seq = seq++;
      t.workload = to_string(w), t.target = kTrainedTarget, t.space = space.fingerprint().hex();
      t.template_name = space.template_name(), t.template_revision = space.revision();
      t.config = space.print(*config), t.module_hash = hash_bytes(t.workload + t.config).hex(), t.status = "ok";
      t.seconds = seconds_of(f), t.times = {*t.seconds};
      t.device_model = "znver5", t.created_at = 1 + seq;
      if (with_features) t.features = store_features(f);
      rows.push_back(t);
    }
    return rows;
  }
  void add(const std::vector<db::TrialRow>& rows) { ASSERT_TRUE(store->trials().add(rows).ok()); }
  TrainRows rows(size_t most = 60'000) { return *train_rows(test_operators(), *store, "llvm", most); }
};

TEST(TrainRows, StoredFeaturesAndComputedOnesAreTheSame) {
  Lab with, without;
  with.add(with.trials("dense(m=32,n=64,k=64)", 20));
  without.add(without.trials("dense(m=32,n=64,k=64)", 20, false));
  const TrainRows a = with.rows(), b = without.rows();
  ASSERT_EQ(a.groups.size(), 1u);
  ASSERT_EQ(b.groups.size(), 1u);
  EXPECT_EQ(a.groups[0].data.rows.values, b.groups[0].data.rows.values);
  EXPECT_EQ(a.groups[0].data.scores, b.groups[0].data.scores);
  EXPECT_EQ(a.recomputed, 0);
  EXPECT_EQ(b.recomputed, 20);
}

TEST(TrainRows, WhatCannotBeUsedIsCountedWithItsReason) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 20);
  for (int i : {0, 1}) rows[static_cast<size_t>(i)].template_revision += 1;  // with features: they still count
  rows[2].features.reset(), rows[2].template_revision += 1;
  rows[3].features->at(3) ^= 1, rows[3].template_revision += 1;
  rows[4].features->at(3) ^= 1;  // another schema, but the template is the same
  rows[5].status = "device_lost", rows[5].seconds.reset(), rows[5].times.clear();
  rows[6].status = "invalid_config", rows[6].seconds.reset(), rows[6].times.clear(), rows[6].module_hash.clear();
  rows[7].status = "build_failed", rows[7].seconds.reset(), rows[7].times.clear();
  lab.add(rows);
  std::vector<db::TrialRow> few = lab.trials("dense(m=16,n=64,k=64)", 3), cuda = lab.trials("dense(m=64,n=64,k=64)", 9);
  for (db::TrialRow& t : cuda) t.target = "cuda -arch=sm_90";
  lab.add(few);
  lab.add(cuda);
  const TrainRows out = lab.rows();
  ASSERT_EQ(out.groups.size(), 1u);
  EXPECT_EQ(out.trials, 16);
  EXPECT_EQ(out.recomputed, 1);
  EXPECT_EQ(out.groups[0].data.scores[3], 0) << "a failure teaches that it is slow";
  EXPECT_EQ(out.skipped,
            (std::map<std::string, int64_t>{{"they have no features and their template has changed", 1},
                                            {"their features are of another schema and their template has changed", 1},
                                            {"not measured", 1},
                                            {"their config could not be lowered", 1},
                                            {"of a workload on a target with too few trials to compare", 3}}));
}

TEST(TrainRows, WorkloadsAndTargetsOfOtherVersionsAreSkippedAndCounted) {
  Lab lab;
  lab.add(lab.trials("dense(m=32,n=64,k=64)", 20));
  std::vector<db::TrialRow> task = lab.trials("dense(m=16,n=64,k=64)", 3, false),
                            target = lab.trials("dense(m=16,n=64,k=64)", 2, false);
  for (db::TrialRow& t : task) t.workload = "fold9d(n=1)";
  for (db::TrialRow& t : target) t.target = "llvm -quantum=7";
  lab.add(task);
  lab.add(target);
  const auto out = train_rows(test_operators(), *lab.store, "llvm", 60'000);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->trials, 20);
  EXPECT_EQ(
      out->skipped,
      (std::map<std::string, int64_t>{{"they have no features and their workload or target is not known here", 5}}));
}

TEST(TrainRows, ProgramsOfOtherRevisionsWithTheSameConfigAreRowsOfTheirOwn) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 12);
  db::TrialRow old = rows[0];
  old.seq = 100, old.created_at = 500, old.template_revision += 1, old.module_hash = "beef", old.seconds = 0.5,
  old.times = {0.5};
  old.features = rows[1].features;
  rows.push_back(old);
  lab.add(rows);
  const TrainRows out = lab.rows();
  ASSERT_EQ(out.trials, 13);
  EXPECT_EQ(out.groups[0].data.scores[0], static_cast<float>(1 / *rows[0].seconds))
      << "not the time of another program";
  EXPECT_EQ(out.groups[0].data.scores[12], 2.0F);
}

TEST(TrainRows, AConfigIsOneRowWithItsConfirmation) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 12);
  db::TrialRow confirmed = rows[0], later = rows[0];
  confirmed.seq = 100, confirmed.confirmed = true, confirmed.seconds = 0.5, confirmed.times = {0.5},
  confirmed.created_at = 500;
  later.seq = 101, later.seconds = 0.75, later.times = {0.75}, later.created_at = 501;
  rows.push_back(confirmed);
  rows.push_back(later);
  lab.add(rows);
  const TrainRows out = lab.rows();
  EXPECT_EQ(out.trials, 12);
  EXPECT_EQ(out.groups[0].data.scores[0], 2.0F);
}

TEST(TrainRows, DevicesAreNotComparedWithEachOther) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 24);
  for (size_t i = 0; i < 12; ++i) rows[i].device_model = "another";
  lab.add(rows);
  EXPECT_EQ(lab.rows().groups.size(), 2u);
}

TEST(TrainRows, DisturbedTimesAreNotComparedWithQuietOnes) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 24);
  for (size_t i = 0; i < 12; ++i) rows[i].disturbed = true;
  lab.add(rows);
  EXPECT_EQ(lab.rows().groups.size(), 2u);
}

TEST(TrainRows, LargeGroupsKeepTheirBest) {
  Lab lab;
  const std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 100);
  lab.add(rows);
  const std::vector<float> all = lab.rows().groups[0].data.scores;
  const TrainRows out = lab.rows(40);
  EXPECT_EQ(out.trials, 40);
  std::vector<float> best = all, kept = out.groups[0].data.scores;
  std::sort(best.rbegin(), best.rend());
  std::sort(kept.rbegin(), kept.rend());
  EXPECT_TRUE(std::equal(best.begin(), best.begin() + 10, kept.begin()));
  EXPECT_LE(kept.back(), best[90]) << "and some of the worst";
  EXPECT_EQ(out.skipped.at("left out of large groups to bound the time"), 60);
}

TEST(TrainRows, OnlyWhatIsKeptOfALargeGroupIsLowered) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 100, false);
  for (db::TrialRow& t : rows) t.config = "nonsense", t.module_hash = hash_bytes(std::to_string(t.seq)).hex();
  lab.add(rows);
  EXPECT_EQ(lab.rows(40).skipped,
            (std::map<std::string, int64_t>{{"left out of large groups to bound the time", 60},
                                            {"they have no features and their config cannot be lowered now", 40}}));
}

TEST(TrainRows, WhatIsKeptDoesNotDependOnTheOrder) {
  Lab a, b;
  std::vector<db::TrialRow> rows = a.trials("dense(m=32,n=64,k=64)", 100);
  a.add(rows);
  for (db::TrialRow& t : rows) t.created_at = 1000 - t.created_at;
  b.add(rows);
  std::vector<float> x = a.rows(16).groups[0].data.scores, y = b.rows(16).groups[0].data.scores;
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  EXPECT_EQ(x, y);
}

TEST(Train, LearnsWhatHoldsForWorkloadsItHasNotSeen) {
  Lab lab;
  for (const char* w : {"dense(m=32,n=64,k=64)", "dense(m=64,n=128,k=64)", "dense(m=128,n=64,k=128)"})
    lab.add(lab.trials(w, 80));
  TrainOptions options;
  options.now_ms = 77;
  const auto made = train_from(*lab.store, options);
  ASSERT_TRUE(made.ok()) << made.status();
  const db::PriorRow& p = made->prior;
  EXPECT_TRUE(db::validate(p).ok());
  EXPECT_EQ(p.schema, feature_schema().hex());
  EXPECT_EQ(p.created_at, 77);
  EXPECT_EQ(p.trials, 240);
  EXPECT_EQ(p.groups, 3);
  EXPECT_EQ(p.held_out, 3);
  EXPECT_EQ(made->workloads, 3);
  ASSERT_TRUE(p.pairwise && p.peak1 && p.peak5);
  EXPECT_GT(*p.pairwise, 0.75);
  EXPECT_GE(*p.peak5, *p.peak1);
  EXPECT_EQ(train_from(*lab.store, options)->prior, p) << "the same trials give the same bytes";
}

TEST(Train, OneWorkloadHasNothingToLeaveOut) {
  Lab lab;
  lab.add(lab.trials("dense(m=32,n=64,k=64)", 80));
  const auto made = train_from(*lab.store, {.now_ms = 1});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->prior.held_out, 0);
  EXPECT_EQ(made->prior.pairwise, std::nullopt);
}

TEST(Train, TooFewTrialsAreAUsageErrorThatSaysWhatThereWas) {
  Lab lab;
  std::vector<db::TrialRow> rows = lab.trials("dense(m=32,n=64,k=64)", 20);
  rows[0].features.reset(), rows[0].template_revision += 1;
  lab.add(rows);
  const auto made = train_from(*lab.store, {.now_ms = 1});
  EXPECT_EQ(exit_code_of(made.status()), kExitUsage);
  EXPECT_THAT(message_of(made.status()), HasSubstr("has 19 usable trials for llvm targets, a prior needs at least 64"));
  EXPECT_THAT(message_of(made.status()), HasSubstr("1 they have no features"));
}

TEST(WarmStart, FindsThePriorAndSaysWhich) {
  const std::string folder = testing::TempDir() + "hone_warm_start";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto hub = [&] { return *db::TopHub::open({"", folder + "/user.db", folder + "/none", folder + "/none"}); };
  EXPECT_THAT(find_prior(*hub(), "llvm")->line, HasSubstr("no prior for llvm targets"));
  const auto store = *db::Store::open(folder + "/user.db");
  Lab lab;
  lab.add(lab.trials("dense(m=32,n=64,k=64)", 80));
  db::PriorRow prior = train_from(*lab.store, {.now_ms = 1})->prior, old = prior, broken = prior;
  old.schema = "before";
  ASSERT_TRUE(store->priors().put(old).ok());
  EXPECT_THAT(find_prior(*hub(), "llvm")->line, HasSubstr("skipped " + folder + "/user.db of another feature schema"));
  broken.model = "no model";
  ASSERT_TRUE(store->priors().put(broken).ok());
  EXPECT_THAT(find_prior(*hub(), "llvm")->line, HasSubstr("cannot be loaded"));
  EXPECT_EQ(find_prior(*hub(), "llvm")->model, "");
  prior.created_at = 2;
  ASSERT_TRUE(store->priors().put(prior).ok());
  EXPECT_THAT(find_prior(*hub(), "llvm")->line,
              HasSubstr("begins with the prior in " + folder + "/user.db (80 trials of 1 groups)"));
  EXPECT_EQ(find_prior(*hub(), "llvm")->model, prior.model);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
