// One task of a session while it runs: what is known, what the searcher has heard, how much of it is under way.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/session.h"
#include "tuner/session/allocate.h"
#include "tuner/session/worker.h"
#include "tuner/standings.h"

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

  /// Takes in what earlier sessions stored, unless `fresh`. Gives what the searcher is to hear first, and the programs
  /// that need no measuring.
  StatusOr<std::vector<Observation>> resume(TrialLog& log, bool fresh, SearchedTask* searched);

  // What follows counts what the searcher has heard, batch by batch: it is the same in whatever order results came in.

  /// The candidates of a batch, in the order proposed.
  void heard(const std::vector<Observation>& outcomes);
  /// The fastest time heard of; 0: none.
  double heard_best() const { return course_.back().best; }
  /// Trials since one was faster than all before it, of quiet ones or of disturbed ones.
  size_t heard_since_gain() const { return since_gain_; }
  size_t heard_new() const { return course_.back().trials; }
  /// With `in_flight` trials beyond what is known, and done or not, for next_task().
  TaskCourse course(size_t in_flight, bool done) const;

  /// Trials per batch: the first batches are small, so that the model hears of something soon.
  size_t ramp() const;

  /// Fastest first, among them an earlier confirmation's best, with the default at the end: what is compared was
  /// measured side by side.
  std::vector<std::string> finalists(size_t n) const;
  SessionOutcome outcome() const;

  bool default_started = false, exhausted = false;
  size_t batches = 0;  ///< asked for
  size_t shared = 0;   ///< configs whose program was known
  RecentAccuracy recent{8}, all{SIZE_MAX};

 private:
  struct Point {
    size_t trials = 0;  ///< of this session
    double best = 0;    ///< then
  };
  const TaskSetup& setup_;
  Standings standings_;
  size_t resumed_ = 0, since_gain_ = 0;
  double heard_quiet_ = 0, heard_disturbed_ = 0;  ///< the fastest of each
  std::vector<Point> course_{Point{}};            ///< after resuming and after each batch heard of
};

}  // namespace hone
