// The live lines of a tuning session.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"

namespace hone {

/// The state of one task of a session.
struct TaskLine {
  std::string label;
  size_t trials = 0;
  double best_gflops = 0;       ///< 0: none yet
  double gain = 0;              ///< the default's time over the best's; 0: not known
  std::optional<double> model;  ///< pairwise accuracy over the latest batches
};

/// A model's tasks together: the sum of count times time.
struct ModelProgress {
  double seconds = 0;          ///< with the best so far
  double default_seconds = 0;  ///< of the same tasks
  size_t missing = 0;          ///< tasks without a time; both sums leave them out
  std::optional<double> gain_per_minute;
};

/// The state of a session at one moment.
struct Snapshot {
  size_t trials = 0, budget = 0;  ///< resumed ones included
  double best_gflops = 0;         ///< 0: none yet; of several tasks: of all, weighted
  double trials_per_second = 0;
  std::map<std::string, uint64_t> failures;      ///< by status
  std::string phase;                             ///< `confirming`; empty: the search
  double seconds_left = -1;                      ///< until the command ends, at most; -1: not known
  std::string trouble;                           ///< why no results come
  double best_seconds = 0, default_seconds = 0;  ///< of several tasks: the weighted sum; 0: not known yet
  std::vector<TaskLine> tasks;
  std::optional<ModelProgress> model;  ///< where the tasks are a model's
};

/// `37/128 trials  best 231.4 GFLOPS  model 0.87  12.1/s  failed 3 (run_timeout 2, rejected 1)  left 8 s`; for several
/// tasks `37/128 trials  total 1.834 ms, 1.42x the default  12.1/s …`. model: the share of pairs that the cost model
/// ordered rightly. For a model `37/128 trials  model now 12.3 ms, 2.10x default, gaining 0.4%/min  12.1/s …`.
std::string describe(const Snapshot& s);
/// `model now 12.3 ms, 2.10x default, gaining 0.4%/min, 3 of 30 tasks missing`
std::string describe(const ModelProgress& m, size_t tasks);
/// `conv2d ci=64     38 trials  231.4 GFLOPS  2.31x  model 0.87`
std::string describe(const TaskLine& t);

class Progress {
 public:
  virtual ~Progress() = default;
  /// Called often; shows a new state only when it is due.
  virtual void show(const Snapshot& s) = 0;
  /// The session is over, or another line is about to be printed: the live lines stay as they are and end.
  virtual void end() = 0;
};

/// Tells a program instead, at most ten times a second, and at the end.
class ToldProgress final : public Progress {
 public:
  ToldProgress(const std::function<void(const Snapshot&)>& tell, const Clock& clock) : tell_(tell), clock_(clock) {}
  void show(const Snapshot& s) override;
  void end() override;

 private:
  const std::function<void(const Snapshot&)>& tell_;
  const Clock& clock_;
  std::optional<Clock::TimePoint> told_;
  std::optional<Snapshot> untold_;
};

/// A terminal's size in characters.
struct TerminalSize {
  size_t rows = 24, columns = 80;
};

/// On a terminal lines that are rewritten, at most ten times a second: of several tasks one each, where there is room,
/// and one for all. Elsewhere a line every two seconds and at the end; of several tasks one for all, then one for each
/// task that has new trials.
class LineProgress final : public Progress {
 public:
  LineProgress(std::ostream& out, bool terminal, const Clock& clock, TerminalSize size = {})
      : out_(out), terminal_(terminal), clock_(clock), size_(size) {}
  void show(const Snapshot& s) override;
  void end() override;

 private:
  std::string block(const Snapshot& s) const;
  void write_over(const std::string& text);
  std::string changed_lines(const Snapshot& s);

  std::ostream& out_;
  const bool terminal_;
  const Clock& clock_;
  const TerminalSize size_;
  bool any_ = false;
  Clock::TimePoint last_{};
  Snapshot latest_;
  std::string shown_;
  size_t lines_shown_ = 0;            ///< on the terminal, above the cursor's line
  std::vector<size_t> trials_shown_;  ///< by task, elsewhere
};

}  // namespace hone
