#include "tuner/session/allocate.h"

#include <algorithm>

namespace hone {
namespace {

constexpr double kRecent = 0.2;   // a
constexpr double kSimilar = 2.0;  // b
// Batches of a task that may catch up with similar ones. A task that does not catch up by then is not slow for want of
// trials: a depthwise convolution of stride 2, say, waits for memory where one of stride 1 computes.
constexpr size_t kBatchesToCatchUp = 4;

// Operations a second of the fastest task like tasks[i]; 0 when there is none.
double similar_speed(const std::vector<TaskCourse>& tasks, size_t i) {
  double speed = 0;
  for (size_t k = 0; k < tasks.size(); ++k)
    if (k != i && tasks[k].operation == tasks[i].operation && tasks[k].best > 0)
      speed = std::max(speed, tasks[k].flops / tasks[k].best);
  return speed;
}

double per(double amount, size_t n) { return amount / static_cast<double>(std::max<size_t>(1, n)); }

}  // namespace

double expected_gain(const std::vector<TaskCourse>& tasks, size_t i, size_t batch) {
  const TaskCourse& t = tasks[i];
  if (t.done || t.best <= 0) return 0;
  const double recent = t.best_before > t.best ? per(t.best_before - t.best, t.window) : 0;
  double hope = per(t.best, t.trials);
  if (const double speed = similar_speed(tasks, i); speed > 0 && t.flops > 0 && t.trials < kBatchesToCatchUp * batch)
    hope = std::max(hope, per(t.best - kSimilar * t.flops / speed, batch));
  return t.weight * (kRecent * recent + (1 - kRecent) * hope);
}

std::optional<size_t> next_task(const std::vector<TaskCourse>& tasks, size_t warm_up, size_t batch) {
  std::optional<size_t> next;
  const auto is_before = [&](size_t a, size_t b) {
    const TaskCourse &x = tasks[a], &y = tasks[b];
    return x.trials != y.trials ? x.trials < y.trials : x.weight * x.best > y.weight * y.best;
  };
  for (size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].done && !tasks[i].needs_no_turn && tasks[i].trials < warm_up && (!next || is_before(i, *next)))
      next = i;
  if (next) return next;
  double whole = 0;
  size_t known = 0;
  for (const TaskCourse& t : tasks)
    if (t.best > 0) whole += t.weight * t.best, ++known;
  const auto is_small = [&](const TaskCourse& t) { return t.needs_no_turn && t.weight * t.best < kLeastShare * whole; };
  const bool all_small =
      std::all_of(tasks.begin(), tasks.end(), [&](const TaskCourse& t) { return t.done || is_small(t); });
  double most = -1;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].done || (!all_small && is_small(tasks[i]))) continue;
    const double gain = tasks[i].best > 0 ? expected_gain(tasks, i, batch) : per(per(whole, known), tasks[i].trials);
    if (gain > most || (gain == most && tasks[i].trials < tasks[*next].trials)) next = i, most = gain;
  }
  return next;
}

}  // namespace hone
