// Decides which of several tasks gets the next batch: the one that improves the whole most.
//
// The whole is the weighted time of all tasks, sum of w_i g_i with g_i the best time of task i so far. A trial more for
// task i is expected to lower it by
//
//   gain_i = w_i ( a recent_i + (1 - a) hope_i )        seconds per trial
//   recent_i = (g_i W trials ago - g_i) / W             what its latest trials brought
//   hope_i = max( g_i / t_i, (g_i - b F_i / V_i) / B )  what more of them may bring
//
// t_i: trials of the task, those in flight included: a gain that t trials did not find, the next one finds with a
// probability of about 1 / t. F_i / V_i: its time if it ran at the speed V_i (operations a second) of the fastest other
// task of the same operator: a task more than b times slower than that can expect to catch up within a batch of B
// trials. That counts for its first four batches; later the first term alone does.
//
// The idea is that of Ansor's task scheduler (Zheng et al., "Ansor: Generating High-Performance Tensor Programs for
// Deep Learning", OSDI 2020, section 6), from which a = 0.2 and b = 2 are. Different here: rates are per trial (batches
// differ in size), trials in flight count, hope of catching up ends, and ties go to the task with fewer trials, so that
// nothing is drawn at random.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// The state of a task as reported to its searcher: later results must not count, or the choice would depend on the
/// order in which results arrive.
struct TaskCourse {
  double weight = 1;
  double flops = 0;        ///< of one run
  std::string operation;   ///< conv2d, dense, …: tasks of the same operator are similar
  size_t trials = 0;       ///< those in flight included
  double best = 0;         ///< seconds; 0: nothing ran yet
  double best_before = 0;  ///< `window` trials ago; 0: nothing ran then
  size_t window = 1;
  bool done = false;           ///< no configs left, or its own stopping rule holds
  bool needs_no_turn = false;  ///< `best` is known without a trial, and time is short: it may go without any
};

/// Tasks that make less of the whole than this come when all others are done.
inline constexpr double kLeastShare = 0.005;

/// Seconds of the weighted whole that one more trial of tasks[i] is expected to save; `batch`: B above. 0 when the task
/// is done, or when no trial of it ran.
double expected_gain(const std::vector<TaskCourse>& tasks, size_t i, size_t batch);

/// The task for the next batch of `batch` trials; nothing when all are done. Tasks with fewer than `warm_up` trials go
/// first: the one with the fewest, among equals the heaviest. Tasks that need no turn do not; of these the ones below
/// kLeastShare come last. A task without a successful trial counts as much as the mean of the others at its number of
/// trials.
std::optional<size_t> next_task(const std::vector<TaskCourse>& tasks, size_t warm_up, size_t batch);

}  // namespace hone
