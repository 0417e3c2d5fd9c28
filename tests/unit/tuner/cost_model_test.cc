#include "tuner/cost/prior.h"

#include <gtest/gtest.h>

#include <random>

namespace hone {
namespace {

struct Sample {
  Matrix rows{6};
  std::vector<float> scores;
};

// A speed with an interaction; two of the six columns are noise.
Sample draw(size_t n, uint64_t seed) {
  Sample s;
  std::mt19937_64 rng(seed);
  const auto unit = [&] { return static_cast<float>(rng() >> 40) / static_cast<float>(1 << 24); };
  for (size_t i = 0; i < n; ++i) {
    const float row[6] = {unit(), unit(), unit(), unit(), unit(), unit()};
    s.rows.add_row(row);
    s.scores.push_back(row[0] > 0.8F ? 0.0F : row[0] * (1 - row[1]) + 0.3F * row[2] * row[3]);  // above 0.8 it fails
  }
  return s;
}

// Share of pairs that the model puts in the right order.
double pair_accuracy(const CostModel& model, const Sample& s) {
  const auto predicted = model.predict(s.rows);
  EXPECT_TRUE(predicted.ok());
  int right = 0, pairs = 0;
  for (size_t i = 0; i < s.scores.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (s.scores[i] == s.scores[j]) continue;
      ++pairs;
      right += ((*predicted)[i] > (*predicted)[j]) == (s.scores[i] > s.scores[j]);
    }
  return static_cast<double>(right) / pairs;
}

TEST(XgbModel, LearnsARanking) {
  const auto model = make_xgb_model();
  const Sample train = draw(400, 1);
  ASSERT_TRUE(model->fit(train.rows, train.scores).ok());
  EXPECT_GT(pair_accuracy(*model, draw(200, 2)), 0.85);
}

TEST(XgbModel, SameRowsGiveTheSameModel) {
  const Sample train = draw(300, 1), test = draw(50, 2);
  const auto a = make_xgb_model(), b = make_xgb_model();
  ASSERT_TRUE(a->fit(train.rows, train.scores).ok());
  ASSERT_TRUE(b->fit(train.rows, train.scores).ok());
  EXPECT_EQ(*a->predict(test.rows), *b->predict(test.rows));
  EXPECT_EQ(*a->save(), *b->save());
}

TEST(XgbModel, UpdatesContinueUntilTheDataDoubled) {
  int rounds = 0;
  XgbOptions options;
  options.between_rounds = [&] { ++rounds; };
  const auto model = make_xgb_model(options);
  const Sample all = draw(200, 1);
  const auto update_with = [&](size_t n) {
    Matrix rows(6);
    for (size_t i = 0; i < n; ++i) rows.add_row(all.rows.values.data() + 6 * i);
    rounds = 0;
    EXPECT_TRUE(model->update(rows, {all.scores.begin(), all.scores.begin() + static_cast<ptrdiff_t>(n)}).ok());
    return rounds;
  };
  EXPECT_EQ(update_with(50), 50) << "the first is a fit: a round a row, up to options.rounds";
  EXPECT_EQ(update_with(80), options.update_rounds);
  EXPECT_EQ(update_with(100), 100) << "twice the rows of the last fit";
  EXPECT_EQ(update_with(150), options.update_rounds);
  EXPECT_GT(pair_accuracy(*model, draw(200, 2)), 0.7);
}

TEST(XgbModel, AFitStopsWhenTheLatestRowsSayThatItLearnsNoise) {
  int rounds = 0;
  XgbOptions options;
  options.rounds = 400;
  options.between_rounds = [&] { ++rounds; };
  const auto fit_with = [&](Sample s) {
    rounds = 0;
    const auto model = make_xgb_model(options);
    EXPECT_TRUE(model->fit(s.rows, s.scores, 50).ok());
    return rounds;
  };
  const Sample sample = draw(300, 1);
  Sample noise = sample;
  std::mt19937_64 rng(5);
  for (float& s : noise.scores) s = static_cast<float>(rng() % 1000) / 1000;
  EXPECT_LT(fit_with(noise), 100);
  EXPECT_GT(fit_with(sample), fit_with(noise));
}

TEST(XgbModel, SavesAndLoads) {
  const Sample train = draw(300, 1), test = draw(50, 2);
  const auto a = make_xgb_model(), b = make_xgb_model();
  ASSERT_TRUE(a->fit(train.rows, train.scores).ok());
  const auto bytes = a->save();
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(b->load(*bytes, 6).ok());
  EXPECT_EQ(*a->predict(test.rows), *b->predict(test.rows));
  EXPECT_FALSE(b->load(*bytes, 7).ok()) << "another number of columns";
  EXPECT_FALSE(b->load("no model", 6).ok());
  EXPECT_EQ(*a->predict(test.rows), *b->predict(test.rows)) << "a failed load leaves the model as it was";
}

TEST(XgbModel, EqualScoresTeachNothing) {
  const auto model = make_xgb_model();
  const Sample s = draw(20, 1);
  EXPECT_TRUE(model->fit(s.rows, std::vector<float>(20, 0.0F)).ok());
  EXPECT_FALSE(model->trained());
  EXPECT_FALSE(model->predict(s.rows).ok());
}

TEST(XgbModel, MisuseIsAStatus) {
  const auto model = make_xgb_model();
  const Sample s = draw(20, 1);
  EXPECT_FALSE(model->fit(s.rows, {1.0F}).ok());
  ASSERT_TRUE(model->fit(s.rows, s.scores).ok());
  EXPECT_FALSE(model->predict(Matrix(5)).ok());
  EXPECT_TRUE(model->predict(Matrix(6))->empty());
}

TEST(XgbModel, KeepsTheBestAndTheLatestOfTooManyRows) {
  XgbOptions options;
  options.max_rows = 100;
  const auto model = make_xgb_model(options);
  const Sample s = draw(1000, 1);
  ASSERT_TRUE(model->fit(s.rows, s.scores).ok());
  EXPECT_GT(pair_accuracy(*model, draw(200, 2)), 0.7);
}

TEST(Prior, IsLearntFromGroupsOfAnyScaleAndBoostedUpon) {
  std::vector<PriorGroup> groups;
  for (uint64_t g = 0; g < 3; ++g) {
    Sample s = draw(200, 10 + g);
    for (float& x : s.scores) x *= g == 0 ? 1000.0F : 0.01F;  // another workload, other speeds
    groups.push_back({s.rows, s.scores});
  }
  const auto prior = train_prior(groups, 6);
  ASSERT_TRUE(prior.ok()) << prior.status();
  const auto warm = make_xgb_model(), cold = make_xgb_model();
  ASSERT_TRUE(warm->load(*prior, 6).ok());
  const Sample test = draw(200, 2), few = draw(16, 3);
  const double before = pair_accuracy(*warm, test);
  EXPECT_GT(before, 0.85) << "without a trial of its own";
  ASSERT_TRUE(warm->update(few.rows, few.scores).ok());
  ASSERT_TRUE(cold->update(few.rows, few.scores).ok());
  EXPECT_GT(pair_accuracy(*warm, test), before - 0.05) << "a few trials do not unlearn it";
  EXPECT_GT(pair_accuracy(*warm, test), pair_accuracy(*cold, test));
}

TEST(Prior, NeedsRowsOfOneWidthAndDifferentScores) {
  const Sample s = draw(20, 1);
  EXPECT_FALSE(train_prior({}, 6).ok());
  EXPECT_FALSE(train_prior({{s.rows, std::vector<float>(20, 1.0F)}}, 6).ok());
  EXPECT_FALSE(train_prior({{s.rows, s.scores}}, 5).ok());
  EXPECT_EQ(*train_prior({{s.rows, s.scores}}, 6), *train_prior({{s.rows, s.scores}}, 6)) << "deterministic";
}

}  // namespace
}  // namespace hone
