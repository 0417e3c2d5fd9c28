#include "tuner/search/searcher.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/tuner/toy_space.h"
#include "tuner/search/moves.h"

namespace hone {
namespace {

// Everything that one searcher needs, with a fresh model.
struct Bench {
  const Space& space;
  std::unique_ptr<CostModel> model = make_xgb_model();
  ModelRanker ranker;
  std::unique_ptr<Searcher> searcher;

  Bench(const Space& s, std::string_view name, uint64_t seed)
      : space(s), ranker(*model, static_cast<int>(toy::numbers_of(s, s.default_config()).size()), toy::features_of(s)) {
    SearchOptions options;
    options.seed = seed;
    searcher = *make_searcher(name, space, &ranker, options);
  }
  void measure(const std::vector<Proposal>& batch) {
    std::vector<Observation> out;
    for (const auto& [c, predicted] : batch) out.push_back({c, toy::speed_of(space, c), true});
    searcher->report(out);
  }
};

// Trials until one is within `share` of the best; `most` when none is.
int trials_to_reach(Bench& b, double best, double share, int most) {
  for (int trials = 0; trials < most;) {
    const auto batch = b.searcher->propose(16);
    for (const auto& [c, predicted] : batch) {
      ++trials;
      if (toy::speed_of(b.space, c) >= share * best) return trials;
    }
    b.measure(batch);
  }
  return most;
}

class EverySearcher : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Searchers, EverySearcher, testing::ValuesIn(searcher_names()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(EverySearcher, ProposesValidConfigsAndNoneTwice) {
  const Space space = toy::tiling_space();
  Bench b(space, GetParam(), 1);
  std::set<std::string> seen;
  b.searcher->report({{space.default_config(), 1.0, true}});
  seen.insert(space.print(space.default_config()));
  for (int i = 0; i < 8; ++i) {
    const auto batch = b.searcher->propose(16);
    ASSERT_EQ(batch.size(), 16u);
    for (const auto& [c, predicted] : batch) {
      EXPECT_TRUE(space.valid(c));
      EXPECT_TRUE(seen.insert(space.print(c)).second) << space.print(c);
    }
    b.measure(batch);
  }
}

TEST_P(EverySearcher, SameSeedAndMeasurementsGiveTheSameProposals) {
  const Space space = toy::tiling_space();
  Bench a(space, GetParam(), 7), b(space, GetParam(), 7);
  for (int i = 0; i < 5; ++i) {
    const auto batch = a.searcher->propose(16);
    ASSERT_EQ(batch, b.searcher->propose(16)) << "batch " << i;
    a.measure(batch);
    b.measure(batch);
  }
}

TEST_P(EverySearcher, ExhaustsASmallSpace) {
  for (int n : {1, 2, 50}) {
    const Space space = toy::small_space(n);
    std::unique_ptr<CostModel> model = make_xgb_model();
    ModelRanker ranker(*model, 1, toy::features_of(space));
    const auto searcher = *make_searcher(GetParam(), space, &ranker, {});
    size_t total = 0;
    for (;;) {
      const auto batch = searcher->propose(16);
      if (batch.empty()) break;
      total += batch.size();
      ASSERT_LE(total, static_cast<size_t>(n));
      std::vector<Observation> out;
      for (const auto& [c, predicted] : batch) out.push_back({c, 1.0 + c.choices[0], true});
      searcher->report(out);
    }
    EXPECT_EQ(total, static_cast<size_t>(n));
  }
}

TEST_P(EverySearcher, LivesWithFailuresOnly) {
  const Space space = toy::tiling_space();
  Bench b(space, GetParam(), 1);
  for (int i = 0; i < 4; ++i) {
    const auto batch = b.searcher->propose(16);
    ASSERT_EQ(batch.size(), 16u);
    std::vector<Observation> failed;
    for (const auto& [c, predicted] : batch) failed.push_back({c, 0, i % 2 == 0});
    b.searcher->report(failed);
  }
}

TEST(Xgb, ReachesTheBestInFarFewerTrialsThanRandom) {
  const Space space = toy::tiling_space();
  const double best = toy::best_speed(space);
  double guided = 0, random = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Bench g(space, "xgb", seed), r(space, "random", seed);
    const int trials = trials_to_reach(g, best, 0.95, 2000);
    EXPECT_LE(trials, 200) << "seed " << seed;
    guided += trials;
    random += trials_to_reach(r, best, 0.95, 2000);
  }
  EXPECT_LT(3 * guided, random);
}

TEST(Xgb, SeedsComeFirstAndOnce) {
  const Space space = toy::tiling_space();
  std::mt19937_64 rng(4);
  SearchOptions options;
  for (int i = 0; i < 5; ++i) options.seeds.push_back(*space.sample(rng));
  options.seeds.push_back(options.seeds.front());
  options.seeds.push_back(space.config_at(space.size() - 1));  // breaks a constraint
  ASSERT_FALSE(space.valid(options.seeds.back()));
  const auto model = make_xgb_model();
  ModelRanker ranker(*model, static_cast<int>(toy::numbers_of(space, space.default_config()).size()),
                     toy::features_of(space));
  const auto searcher = *make_searcher("xgb", space, &ranker, options);
  const auto batch = searcher->propose(8);
  ASSERT_EQ(batch.size(), 8u);
  std::set<std::string> all;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i < 5) {
      EXPECT_EQ(batch[i].config, options.seeds[i]);
    }
    EXPECT_TRUE(space.valid(batch[i].config));
    EXPECT_TRUE(all.insert(space.print(batch[i].config)).second);
  }
}

TEST(Xgb, SeedsLeaveTheRestOfTheBatchToTheModel) {
  const Space space = toy::tiling_space();
  std::mt19937_64 rng(4);
  SearchOptions options;
  options.random_share = 0;
  for (int i = 0; i < 5; ++i) options.seeds.push_back(*space.sample(rng));
  const auto model = make_xgb_model();
  ModelRanker ranker(*model, static_cast<int>(toy::numbers_of(space, space.default_config()).size()),
                     toy::features_of(space), [](const float* row) { return -row[0]; });
  size_t guessed = 0;
  for (const Proposal& p : (*make_searcher("xgb", space, &ranker, options))->propose(8))
    guessed += p.predicted.has_value();
  EXPECT_EQ(guessed, 3u);
}

TEST(Xgb, ADraftModelChoosesWhatIsMeasuredFirst) {
  // The first column of the features is y's outermost part: the draft wants it small, so the rest of the tile large.
  const Space space = toy::tiling_space();
  const auto model = make_xgb_model();
  ModelRanker ranker(*model, static_cast<int>(toy::numbers_of(space, space.default_config()).size()),
                     toy::features_of(space), [](const float* row) { return -row[0]; });
  const auto searcher = *make_searcher("xgb", space, &ranker, {});
  double guided = 0, random = 0;
  for (const Proposal& p : searcher->propose(32)) guided += toy::numbers_of(space, p.config)[0] / 32;
  std::mt19937_64 rng(1);
  for (int i = 0; i < 32; ++i) random += toy::numbers_of(space, *space.sample(rng))[0] / 32;
  EXPECT_LT(guided, 0.7 * random);
}

TEST(Xgb, DescendsFromTheBest) {
  const Space space = toy::tiling_space();
  Bench b(space, "xgb", 2);
  b.measure(b.searcher->propose(32));
  b.measure(b.searcher->propose(32));
  std::vector<Config> best;
  // The searcher was told the toy's speeds: find its best by asking for them again.
  Bench same(space, "xgb", 2);
  double top = 0;
  for (int i = 0; i < 2; ++i) {
    const auto batch = same.searcher->propose(32);
    for (const Proposal& p : batch)
      if (toy::speed_of(space, p.config) > top) top = toy::speed_of(space, p.config), best = {p.config};
    same.measure(batch);
  }
  int near = 0;
  for (const Proposal& p : b.searcher->propose(32)) near += distance(p.config, best.front()) == 1;
  EXPECT_GE(near, 4);
}

TEST(Moves, NeighboursDifferInOneKnobAndAreValid) {
  const Space space = toy::tiling_space();
  const Config from = space.default_config();
  const std::vector<Config> all = neighbours(space, from);
  std::set<std::string> once;
  for (const Config& c : all) {
    EXPECT_EQ(distance(c, from), 1);
    EXPECT_TRUE(space.valid(c));
    EXPECT_TRUE(once.insert(space.print(c)).second);
  }
  // None is missing: the others of each knob that are valid.
  size_t valid = 0;
  for (size_t k = 0; k < space.knobs().size(); ++k)
    for (int32_t i = 0; i < static_cast<int32_t>(space.knobs()[k].choices.size()); ++i) {
      Config c = from;
      c.choices[k] = i;
      valid += i != from.choices[k] && space.valid(c);
    }
  EXPECT_EQ(all.size(), valid);
}

TEST(Xgb, FailedTrialsAreLearntFrom) {
  // Everything with a vector of 16 fails: the model must learn to leave it alone.
  const Space space = toy::tiling_space();
  Bench b(space, "xgb", 3);
  const auto fails = [&](const Config& c) {
    return space.knobs()[3].choices[static_cast<size_t>(c.choices[3])][0] == 16;
  };
  int failed_late = 0;
  for (int i = 0; i < 12; ++i) {
    std::vector<Observation> out;
    for (const auto& [c, predicted] : b.searcher->propose(16)) {
      out.push_back({c, fails(c) ? 0 : toy::speed_of(space, c), true});
      failed_late += i >= 8 && fails(c);
    }
    b.searcher->report(out);
  }
  EXPECT_EQ(b.ranker.rows().rows(), 12u * 16) << "failed ones are rows too";
  EXPECT_LT(failed_late, 4 * 16 / 4) << "at random it would be a quarter";
}

// A model that always fails.
struct BrokenModel final : CostModel {
  Status fit(const Matrix&, const std::vector<float>&, size_t) override { return absl::InternalError("no such loss"); }
  Status update(const Matrix&, const std::vector<float>&, size_t) override {
    return absl::InternalError("no such loss");
  }
  bool trained() const override { return true; }
  StatusOr<std::vector<float>> predict(const Matrix&) const override { return absl::InternalError("no such loss"); }
  StatusOr<std::string> save() const override { return absl::InternalError("no such loss"); }
  Status load(std::string_view, int) override { return absl::InternalError("no such loss"); }
};

TEST(Xgb, ABrokenModelIsReportedAndSearchGoesOn) {
  const Space space = toy::tiling_space();
  BrokenModel model;
  ModelRanker ranker(model, static_cast<int>(toy::numbers_of(space, space.default_config()).size()),
                     toy::features_of(space));
  const auto searcher = make_evolve_searcher(space, ranker, {});
  for (int i = 0; i < 3; ++i) {
    const auto batch = searcher->propose(16);
    EXPECT_EQ(batch.size(), 16u);
    std::vector<Observation> out;
    for (const auto& [c, predicted] : batch) out.push_back({c, 1, true});
    searcher->report(out);
  }
  EXPECT_EQ(ranker.last_error(), "no such loss");
}

TEST(Searcher, UnknownNameListsTheKnownOnes) {
  const Space space = toy::small_space(2);
  const auto s = make_searcher("bayes", space, nullptr, {});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(message_of(s.status()), "--search: unknown searcher 'bayes'; known: xgb, random, grid, anneal, genetic");
}

}  // namespace
}  // namespace hone
