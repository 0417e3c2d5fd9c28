// A task as programs without a command line make it.
#include "tuner/session/tuning_task.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/clock.h"
#include "compiler/ops/user_operator.h"
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

// A user's template on top of an operator's: counts what it is asked for.
TEST(UserTemplates, AreSearchedAndAskedForManyConfigsAtOnce) {
  const SteadyClock clock;
  HostCores cores{clock};
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Tensor a = placeholder("a", {96}, f32);
  const Tensor b = compute("b", {96}, {"i"}, {a}, [&](const auto& i) { return a(i[0]) + a(i[0]); });
  const Definition d{{{a, ParamRole::kInput}}, {b}};
  const auto ask = [](Knobs& k) {
    const Split parts = k.split("parts", 96, 3);
    k.require("vectors are whole", parts[2] >= 4);
    return parts;
  };
  std::vector<size_t> expected;
  auto own = std::make_shared<UserTemplate>();
  own->name = "twice";
  own->knobs = Space::declared(ask);
  own->settle = [&](const Space& space, const Config& c) { return Space::settled_by(ask, space, c); };
  own->apply = [&](const Space& space, const Config& c) {
    Knobs knobs = space.reader(c);
    auto s = std::make_unique<Schedule>(d.inputs, d.outputs);
    const auto loops = s->split(s->loops(s->block("b"))[0], ask(knobs));
    HONE_USER_CHECK(s->extent(loops[2]) <= 32) << "too wide";
    s->vectorize(loops[2]);
    return s;
  };
  own->expect = [&](const Space&, std::span<const Config> configs) { expected.push_back(configs.size()); };
  TuningTask task(user_workload("twice", d, {{"n", "96"}}, own), target, {.seed = 1}, cores);
  ASSERT_TRUE(task.begin_search("xgb", {}).ok());
  const std::vector<Proposal> first = task.searcher->propose(4);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_THAT(expected, testing::Contains(testing::Gt(4u)));
  for (const Proposal& p : first) EXPECT_TRUE(task.space.valid(p.config));
  const auto good = task.candidates.prepare(task.space.parse("parts=3x2x16"));
  EXPECT_EQ(good->error, "");
  EXPECT_FALSE(good->encoded.empty());
  const auto bad = task.candidates.prepare(task.space.parse("parts=2x1x48"));
  EXPECT_EQ(bad->error, "too wide");
}

}  // namespace
}  // namespace hone
