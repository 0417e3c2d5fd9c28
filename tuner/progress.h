// The live line of a tuning session.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "base/clock.h"

namespace hone {

/// How a session does at one moment.
struct Snapshot {
  size_t trials = 0, budget = 0;   ///< resumed ones included
  double best_gflops = 0;          ///< 0: none yet
  double trials_per_second = 0;
  std::map<std::string, uint64_t> failures;  ///< by status
  double seconds_left = -1;        ///< -1: not known
  std::string trouble;             ///< what keeps results from coming
};

/// `37/128 trials  best 231.4 GFLOPS  12.1/s  failed 3 (run_timeout 2, rejected 1)  left 8 s`
std::string describe(const Snapshot& s);

class Progress {
 public:
  virtual ~Progress() = default;
  /// Called often; shows what it likes.
  virtual void show(const Snapshot& s) = 0;
  /// The session is over, or a line of its own is about to be printed: the live line stays as it is and ends.
  virtual void end() = 0;
};

/// On a terminal one line that is rewritten, at most ten times a second; elsewhere a line every five seconds and at the end.
class LineProgress final : public Progress {
 public:
  LineProgress(std::ostream& out, bool terminal, const Clock& clock) : out_(out), terminal_(terminal), clock_(clock) {}
  void show(const Snapshot& s) override;
  void end() override;

 private:
  std::ostream& out_;
  const bool terminal_;
  const Clock& clock_;
  bool any_ = false;
  Clock::TimePoint last_{};
  std::string latest_, shown_;
};

}  // namespace hone
