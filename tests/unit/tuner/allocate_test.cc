#include "tuner/session/allocate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace hone {
namespace {

TaskCourse course(double best, size_t trials) {
  TaskCourse t;
  t.flops = 1e9, t.operation = "conv2d", t.best = best, t.best_before = best, t.trials = trials, t.window = 16;
  return t;
}

TEST(ExpectedGain, FollowsTheFormula) {
  TaskCourse t = course(0.010, 50);
  t.weight = 3, t.best_before = 0.014;
  EXPECT_DOUBLE_EQ(expected_gain({t}, 0, 16), 3 * (0.2 * 0.004 / 16 + 0.8 * 0.010 / 50));
}

TEST(ExpectedGain, ATaskFarSlowerThanItsLikeCanCatchUp) {
  TaskCourse slow = course(0.010, 48), fast = course(0.001, 1000);
  EXPECT_DOUBLE_EQ(expected_gain({slow, fast}, 0, 16), 0.8 * (0.010 - 2 * 0.001) / 16);
  fast.operation = "dense";
  EXPECT_DOUBLE_EQ(expected_gain({slow, fast}, 0, 16), 0.8 * 0.010 / 48) << "another operator says nothing";
}

// A task that waits for memory stays slower than its like, however many trials it has: the others have their turns.
TEST(ExpectedGain, HopeOfCatchingUpEnds) {
  TaskCourse slow = course(0.010, 64), fast = course(0.001, 1000);
  EXPECT_DOUBLE_EQ(expected_gain({slow, fast}, 0, 16), 0.8 * 0.010 / 64);
  std::vector<TaskCourse> tasks{slow, fast, course(0.002, 64)};
  std::vector<size_t> trials(tasks.size(), 0);
  for (int i = 0; i < 100; ++i) {
    const size_t next = *next_task(tasks, 8, 16);
    tasks[next].trials += 16, trials[next] += 16;
  }
  EXPECT_GT(trials[0], trials[2]);
  EXPECT_GT(trials[2], 100U);
}

TEST(ExpectedGain, NothingIsExpectedOfTasksThatAreDone) {
  TaskCourse t = course(0.01, 50);
  t.done = true;
  EXPECT_EQ(expected_gain({t}, 0, 16), 0);
}

TEST(NextTask, EveryTaskIsWarmedUpFirst) {
  std::vector<TaskCourse> tasks(3);
  std::vector<size_t> order;
  for (int i = 0; i < 6; ++i) {
    const size_t next = *next_task(tasks, 16, 8);
    order.push_back(next);
    tasks[next].trials += 8;
  }
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 0, 1, 2}));
}

TEST(NextTask, WhereTimeIsShortTheHeaviestGoFirst) {
  // A model that was timed: one task has 80% of it, one 19%, and two have less than half a per cent each.
  std::vector<TaskCourse> tasks{course(0.0003, 0), course(0.080, 0), course(0.019, 0), course(0.0003, 0)};
  for (TaskCourse& t : tasks) t.needs_no_turn = true, t.operation = std::to_string(t.best);
  std::vector<size_t> batches(4);
  for (int i = 0; i < 12; ++i) {
    const size_t next = *next_task(tasks, 16, 8);
    ++batches[next];
    tasks[next].trials += 8;
  }
  EXPECT_EQ(batches[0] + batches[3], 0u);
  EXPECT_GT(batches[1], batches[2]);
  EXPECT_GT(batches[2], 0u);
  // Those come when there is nothing else.
  tasks[1].done = tasks[2].done = true;
  EXPECT_EQ(next_task(tasks, 16, 8), 0u);
}

TEST(NextTask, TheHeaviestAreWarmedUpFirst) {
  std::vector<TaskCourse> tasks{course(0.001, 0), course(0.080, 0), course(0.019, 0)};
  std::vector<size_t> order;
  for (int i = 0; i < 4; ++i) {
    const size_t next = *next_task(tasks, 16, 8);
    order.push_back(next);
    tasks[next].trials += 8;
  }
  EXPECT_EQ(order, (std::vector<size_t>{1, 2, 0, 1}));
}

TEST(NextTask, WeightsAndTimesDecide) {
  std::vector<TaskCourse> tasks{course(0.001, 100), course(0.002, 100)};
  EXPECT_EQ(next_task(tasks, 8, 16), 1u);
  tasks[0].weight = 3;
  EXPECT_EQ(next_task(tasks, 8, 16), 0u);
  tasks[1].best_before = 0.02;
  EXPECT_EQ(next_task(tasks, 8, 16), 1u) << "it has just become ten times as fast";
}

TEST(NextTask, TrialsGoWhereCountTimesTimeCanShrink) {
  // A model has a layer of 4 ms that runs once, one of 1 ms that runs eight times, one of 0.1 ms that runs ten times.
  std::vector<TaskCourse> tasks{course(0.004, 8), course(0.001, 8), course(0.0001, 8)};
  tasks[1].weight = 8, tasks[2].weight = 10;
  for (TaskCourse& t : tasks) t.flops = t.best * 1e9;
  std::vector<size_t> trials(3, 8);
  for (int i = 0; i < 130; ++i) {
    const size_t next = *next_task(tasks, 8, 8);
    tasks[next].trials += 8;
    trials[next] += 8;
  }
  // Nothing is found: by w g / t their trials are as their shares of the whole, 4 : 8 : 1.
  EXPECT_NEAR(static_cast<double>(trials[1]) / static_cast<double>(trials[0]), 2, 0.1);
  EXPECT_NEAR(static_cast<double>(trials[0]) / static_cast<double>(trials[2]), 4, 0.5);
}

TEST(NextTask, WithoutOperationsNothingIsCompared) {
  TaskCourse copy = course(0.010, 1000), fast = course(0.001, 1000);
  copy.flops = 0;
  EXPECT_DOUBLE_EQ(expected_gain({copy, fast}, 0, 16), 0.8 * 0.010 / 1000);
}

TEST(NextTask, WhatIsInFlightCounts) {
  std::vector<TaskCourse> tasks{course(0.001, 100), course(0.001, 100)};
  EXPECT_EQ(next_task(tasks, 8, 16), 0u);
  tasks[0].trials += 16;
  EXPECT_EQ(next_task(tasks, 8, 16), 1u);
}

TEST(NextTask, LeavesOutTasksThatAreDone) {
  std::vector<TaskCourse> tasks{course(0.001, 100), course(1.0, 4)};
  tasks[1].done = true;
  EXPECT_EQ(next_task(tasks, 8, 16), 0u);
  tasks[0].done = true;
  EXPECT_EQ(next_task(tasks, 8, 16), std::nullopt);
  EXPECT_EQ(next_task({}, 8, 16), std::nullopt);
}

TEST(NextTask, ATaskOfWhichNothingRunsNeitherStarvesNorTakesAll) {
  std::vector<TaskCourse> tasks{course(0.001, 8), course(0, 8)};
  size_t broken = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t next = *next_task(tasks, 8, 8);
    tasks[next].trials += 8;
    broken += next == 1;
  }
  EXPECT_GT(broken, 30u);
  EXPECT_LT(broken, 70u);
}

TEST(NextTask, WithoutAnyResultAllGetTheSame) {
  std::vector<TaskCourse> tasks{course(0, 8), course(0, 8), course(0, 8)};
  for (int i = 0; i < 9; ++i) tasks[*next_task(tasks, 8, 8)].trials += 8;
  for (const TaskCourse& t : tasks) EXPECT_EQ(t.trials, 32u);
}

// Tasks whose best follows a known curve: the whole must be better than with equal shares, which is the formula's
// purpose.
TEST(NextTask, BeatsEqualShares) {
  struct Curve {
    double floor, slack, half;  // best(t) = floor + slack * 2^(-t / half)
    double at(size_t t) const { return floor + slack * std::exp2(-static_cast<double>(t) / half); }
  };
  // A big one that converges slowly, small ones that are done at once, a middling one.
  const std::vector<Curve> curves{{5e-3, 20e-3, 150}, {1e-4, 1e-4, 5},  {2e-4, 2e-4, 10},
                                  {1e-4, 3e-4, 8},    {1e-3, 2e-3, 40}, {5e-5, 1e-4, 6}};
  const auto whole = [&](const std::function<size_t(const std::vector<TaskCourse>&)>& choose) {
    std::vector<TaskCourse> tasks(curves.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i] = course(0, 0);
      tasks[i].operation = std::to_string(i);  // nothing to learn from each other
    }
    for (int batch = 0; batch < 60; ++batch) {
      TaskCourse& t = tasks[choose(tasks)];
      const size_t i = static_cast<size_t>(&t - tasks.data());
      t.best_before = curves[i].at(t.trials < 8 ? 0 : t.trials - 8);
      t.trials += 8, t.window = 16;
      t.best = curves[i].at(t.trials);
    }
    double sum = 0;
    for (const TaskCourse& t : tasks) sum += t.best;
    return sum;
  };
  size_t turn = 0;
  const double equal = whole([&](const auto& tasks) { return turn++ % tasks.size(); });
  const double gradient = whole([](const auto& tasks) { return *next_task(tasks, 8, 8); });
  EXPECT_LT(gradient, 0.75 * equal) << equal << " " << gradient;
}

}  // namespace
}  // namespace hone
