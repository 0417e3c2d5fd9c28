// The state of one task of a running session: its results, the part reported to the searcher, and trials in flight.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/session/allocate.h"
#include "tuner/session/session.h"
#include "tuner/session/standings.h"
#include "tuner/session/worker.h"

namespace hone {

class TaskRun {
 public:
  explicit TaskRun(const TaskSetup& setup) : setup_(setup) {}

  const TaskSetup& setup() const { return setup_; }
  Standings& standings() { return standings_; }
  const Standings& standings() const { return standings_; }
  double gflops(double seconds) const { return seconds > 0 ? setup_.flops / seconds * 1e-9 : 0; }
  std::string default_text() const { return setup_.space.print(setup_.space.default_config()); }
  size_t resumed() const { return resumed_; }
  size_t new_trials() const { return standings_.trials() - resumed_; }

  /// Reads the trials of earlier sessions, unless `fresh`. Returns the outcomes to report to the searcher first, and
  /// adds the programs that need no measuring to `searched`.
  StatusOr<std::vector<Observation>> resume(TrialLog& log, bool fresh, SearchedTask* searched);

  // The following count outcomes as they are reported to the searcher, batch by batch: independent of the order in
  // which results arrive.

  /// Reports the candidates of a batch, in the order proposed.
  void report(const std::vector<Observation>& outcomes);
  /// The fastest reported time; 0: none.
  double reported_best() const { return course_.back().best; }
  /// Reported trials since the last one that was faster than all before it, among quiet or among disturbed ones.
  size_t reported_since_gain() const { return since_gain_; }
  size_t reported_trials() const { return course_.back().trials; }
  /// For next_task(): with `in_flight` trials beyond the known ones, and whether the task is done. `is_short_of_time`:
  /// not every task has its turn.
  TaskCourse course(size_t in_flight, bool done, bool is_short_of_time) const;

  /// The size of the next batch: the first batches are small, so that the model learns early.
  size_t ramp() const;

  /// Fastest first, including the best of an earlier confirmation, with the default at the end: finalists are measured
  /// side by side.
  std::vector<std::string> finalists(size_t n) const;
  SessionOutcome outcome() const;

  bool default_started = false, exhausted = false;
  size_t batches = 0;  ///< requested so far
  size_t shared = 0;   ///< configs whose program was known
  RecentAccuracy recent{8}, all{SIZE_MAX};

 private:
  struct Point {
    size_t trials = 0;  ///< trials of this session
    double best = 0;    ///< best time at that point
  };
  const TaskSetup& setup_;
  Standings standings_;
  size_t resumed_ = 0, since_gain_ = 0;
  double reported_quiet_ = 0, reported_disturbed_ = 0;  ///< the fastest of each
  std::vector<Point> course_{Point{}};                  ///< after resuming, and after each reported batch
};

}  // namespace hone
