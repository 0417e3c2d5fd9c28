// A task as programs without a command line make it.
#include "tuner/session/tuning_task.h"

#include <gmock/gmock.h>

#include "base/clock.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

struct TuningTaskTest : testing::Test {
  const SteadyClock clock;
  HostCores cores{clock};
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  TuningTask task{
      parse_workload("dense(m=16,n=32,k=24,epilogue=bias+silu)"), target, {.label = "fc", .seed = 3}, cores};
};

TEST_F(TuningTaskTest, SearchesItsSpaceFromTheSeedsGiven) {
  EXPECT_EQ(task.label, "fc");
  std::mt19937_64 rng(1);
  const Config seed = *task.space.sample(rng);
  ASSERT_TRUE(task.begin_search("xgb", {seed}).ok());
  const std::vector<Proposal> first = task.searcher->propose(4);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_TRUE(std::any_of(first.begin(), first.end(), [&](const Proposal& p) { return p.config == seed; }));
  for (const Proposal& p : first) EXPECT_TRUE(task.space.valid(p.config));
}

TEST_F(TuningTaskTest, RefusesWhatIsNoSearcherAndNoModel) {
  EXPECT_FALSE(task.begin_search("luck", {}).ok());
  EXPECT_EQ(task.searcher, nullptr);
  EXPECT_FALSE(task.load_prior("no model").ok());
}

}  // namespace
}  // namespace hone
