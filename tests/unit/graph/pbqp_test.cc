// The solver beside all assignments, on random graphs.
#include "compiler/graph/pbqp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hone {
namespace {

// A problem whose options are kept beside it. All numbers are whole, so that sums are exact; the first options of all
// nodes are allowed.
struct RandomProblem {
  explicit RandomProblem(int seed) : random(static_cast<unsigned>(seed)) {}

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  double cost(bool may_be_infinite) { return may_be_infinite && below(5) == 0 ? Pbqp::kInfinite : below(20); }
  int node() {
    std::vector<double> costs;
    for (int i = 0, n = 1 + below(3); i < n; ++i) costs.push_back(cost(i > 0));
    options.push_back(static_cast<int>(costs.size()));
    return problem.add_node(costs);
  }
  void edge(int a, int b) {
    std::vector<double> costs;
    for (int i = 0; i < options[static_cast<size_t>(a)] * options[static_cast<size_t>(b)]; ++i)
      costs.push_back(cost(i > 0));
    problem.add_edge(a, b, costs);
  }

  // The least cost of all assignments.
  double least() const {
    double best = Pbqp::kInfinite;
    std::vector<int> at(options.size(), 0);
    for (;;) {
      best = std::min(best, problem.cost_of(at));
      size_t n = 0;
      while (n < at.size() && ++at[n] == options[n]) at[n++] = 0;
      if (n == at.size()) return best;
    }
  }

  Pbqp problem;
  std::vector<int> options;
  std::mt19937 random;
};

void expect_optimal(const RandomProblem& p) {
  const Pbqp::Solution s = p.problem.solve();
  EXPECT_TRUE(s.is_optimal);
  EXPECT_EQ(s.cost, p.least());
  EXPECT_EQ(s.cost, p.problem.cost_of(s.options));
}

TEST(Pbqp, OneNodeTakesItsCheapestOption) {
  Pbqp p;
  p.add_node({3, 1, 1});
  const Pbqp::Solution s = p.solve();
  EXPECT_EQ(s.options, std::vector<int>{1});
  EXPECT_EQ(s.cost, 1);
}

TEST(Pbqp, NothingCostsNothing) { EXPECT_EQ(Pbqp().solve().cost, 0); }

TEST(Pbqp, AnEdgeOutweighsItsEnds) {
  Pbqp p;
  const int a = p.add_node({5, 1}), b = p.add_node({2, 4});
  p.add_edge(b, a, {0, 10, 10, 0});  // rows are b's options
  EXPECT_EQ(p.solve().options, (std::vector<int>{1, 1}));
  p.add_edge(a, b, {0, 0, 0, 3});  // added to it: 8 and 7
  EXPECT_EQ(p.solve().options, (std::vector<int>{0, 0}));
}

TEST(Pbqp, EqualOnesKeepTheFirstOptions) {
  Pbqp p;
  for (int n = 0; n < 5; ++n) p.add_node({1, 1});
  for (int n = 0; n < 5; ++n) p.add_edge(n, (n + 1) % 5, {0, 1, 1, 0});
  EXPECT_EQ(p.solve().options, std::vector<int>(5, 0));
}

TEST(Pbqp, WhatIsNotAllowedIsSaid) {
  Pbqp p;
  p.add_node({1}), p.add_node({1});
  p.add_edge(0, 1, {Pbqp::kInfinite});
  EXPECT_EQ(p.solve().cost, Pbqp::kInfinite);
}

TEST(Pbqp, TreesAreSolved) {
  for (int seed = 0; seed < 200; ++seed) {
    RandomProblem p(seed);
    for (int n = 0, nodes = 1 + p.below(8); n < nodes; ++n) {
      p.node();
      if (n > 0) p.edge(n, p.below(n));
    }
    expect_optimal(p);
  }
}

TEST(Pbqp, SeriesParallelGraphsAreSolved) {
  for (int seed = 0; seed < 200; ++seed) {
    RandomProblem p(seed);
    std::vector<std::pair<int, int>> edges{{p.node(), p.node()}};
    // Each step puts a node into an edge, or a path beside it.
    for (int step = p.below(7); step > 0; --step) {
      const auto at = static_cast<size_t>(p.below(static_cast<int>(edges.size())));
      const auto [a, b] = edges[at];
      const int middle = p.node();
      if (p.below(2) == 0) edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(at));
      edges.emplace_back(a, middle);
      edges.emplace_back(middle, b);
    }
    for (const auto& [a, b] : edges) p.edge(a, b);
    expect_optimal(p);
  }
}

TEST(Pbqp, OthersAreAllowedAndNoWorseThanTheStart) {
  int optimal = 0;
  for (int seed = 0; seed < 300; ++seed) {
    RandomProblem p(seed);
    const int nodes = 5 + p.below(4);
    for (int n = 0; n < nodes; ++n) p.node();
    for (int a = 0; a < nodes; ++a)
      for (int b = a + 1; b < nodes; ++b)
        if (p.below(4) > 0) p.edge(a, b);
    const Pbqp::Solution s = p.problem.solve();
    const double least = p.least();
    EXPECT_TRUE(std::isfinite(s.cost));
    EXPECT_EQ(s.cost, p.problem.cost_of(s.options));
    EXPECT_LE(s.cost, p.problem.cost_of(std::vector<int>(p.options.size(), 0)));
    EXPECT_GE(s.cost, least);
    EXPECT_TRUE(!s.is_optimal || s.cost == least);
    EXPECT_EQ(s.options, p.problem.solve().options);
    optimal += s.cost == least ? 1 : 0;
  }
  RecordProperty("optimal_of_300", optimal);
  EXPECT_GE(optimal, 250) << "the heuristic is of little use";
}

}  // namespace
}  // namespace hone
