// --seconds S bounds everything until the prompt is back: when each part of the command ends.
#pragma once

#include "base/clock.h"

namespace hone {

/// Parts end one after the other; one that ends early leaves its time to the others. Without a limit none ends.
class TimePlan {
 public:
  /// `seconds`: of the whole command, which began at `start`; 0: no limit.
  TimePlan(const Clock& clock, Clock::TimePoint start, double seconds) : clock_(clock), start_(start), all_(seconds) {}

  /// Shares the time that is left. `build_seconds`: of one build of the model, which is built and timed at the end; 0:
  /// nothing is built. `is_model`: layers have alternatives, which are measured behind the search.
  void share(bool is_model, double build_seconds);

  bool is_limited() const { return all_ > 0; }
  double elapsed() const;
  /// Seconds until the end of everything; until alternatives, confirming and the search end. Infinite without a limit,
  /// 0 when they are over.
  double left() const { return left_of(0); }
  double for_alternatives() const { return left_of(whole_); }
  double for_confirming() const { return left_of(whole_ + alternatives_); }
  double for_search() const { return left_of(whole_ + alternatives_ + confirming_); }

 private:
  double left_of(double reserved) const;

  const Clock& clock_;
  const Clock::TimePoint start_;
  const double all_;
  double confirming_ = 0, alternatives_ = 0, whole_ = 0;  ///< seconds of each, behind the search
};

}  // namespace hone
