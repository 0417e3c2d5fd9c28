#include "tuner/features/stored.h"

#include <gtest/gtest.h>

#include "compiler/build/build.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/tuner/fakes.h"

namespace hone {
namespace {

Features some_features() {
  Features f{};
  f[0] = 1.1F, f[7] = -3.25F, f[8] = 1e-7F, f[kFeatureCount - 1] = 40.0F;
  return f;
}

TEST(StoredFeatures, ComeBackUnchangedAndTakeWhatTheyNeed) {
  const std::string bytes = store_features(some_features());
  EXPECT_EQ(bytes.size(), 16 + (kFeatureCount + 7) / 8 + 4 * 4u);
  const auto back = stored_features(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, some_features());
  EXPECT_EQ(*stored_features(store_features(Features{})), Features{});
}

TEST(StoredFeatures, OfARealCandidateComeBackUnchanged) {
  const Workload w = parse_workload("conv2d(ci=32,h=14,w=14,co=32,kh=3,kw=3)");
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2");
  const Space space = make_space(w, target);
  const Features f = features_of(lower_config(w, target, space, space.default_config()), target);
  const std::string bytes = store_features(f);
  EXPECT_LT(bytes.size(), sizeof(Features));
  EXPECT_EQ(*stored_features(bytes), f);
}

TEST(StoredFeatures, OfAnotherSchemaAreToldFromDamage) {
  const std::string good = store_features(some_features());
  std::string other = good;
  other[3] = static_cast<char>(other[3] ^ 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(stored_features(other).status()));
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_TRUE(absl::IsInvalidArgument(stored_features(good.substr(0, n)).status())) << n;
  EXPECT_TRUE(absl::IsInvalidArgument(stored_features(good + "x").status()));
  std::string infinite = good;
  infinite.replace(infinite.size() - 4, 4, std::string("\x00\x00\x80\x7f", 4));
  EXPECT_TRUE(absl::IsInvalidArgument(stored_features(infinite).status()));
}

TEST(Session, StoresTheFeaturesOfEveryTrialThatWasLowered) {
  const Space space = toy::tiling_space();
  toy::MemoryLog log;
  toy::Rig run(space, log);
  run.candidates.broken_every = 5;
  ASSERT_TRUE(run.go().ok());
  size_t with = 0;
  for (const db::TrialRow& row : log.rows) {
    EXPECT_EQ(row.features.has_value(), !row.module_hash.empty()) << row.message;
    if (!row.features) continue;
    ++with;
    EXPECT_EQ(*stored_features(*row.features), *run.candidates.features(space.parse(row.config))) << row.config;
  }
  EXPECT_GT(with, 40u);
}

}  // namespace
}  // namespace hone
