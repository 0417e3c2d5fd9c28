// Which timed repeats a candidate gets: screening, refining what is near the best, stopping what is clearly slower. No clock, no
// process: whoever measures asks for the next step and tells how long it took.
#pragma once

#include <optional>
#include <vector>

#include "rpc/wire/messages.h"

namespace hone::agent {

class MeasurePlan {
 public:
  struct Step {
    bool timed = true;        ///< false: warm-up, one call
    double min_seconds = 0;   ///< a timed step calls the kernel until this much time has passed
  };

  /// `first_call_seconds`: the call whose outputs were checked. `interleaved`: one of several candidates in turn; each gets its
  /// repeats and nothing is censored or refined.
  MeasurePlan(const wire::MeasureProfile& profile, double first_call_seconds, bool interleaved);

  /// The next step; nothing when the measurement is complete. `seconds_left` until the run's deadline: what would not fit any more
  /// is left out once there is one repeat.
  std::optional<Step> next(double seconds_left);
  /// The step that next() returned took so long per call.
  void took(double seconds_per_call);

  const std::vector<double>& times() const { return times_; }
  bool censored() const { return censored_; }

 private:
  bool refines() const;

  const wire::MeasureProfile profile_;
  const bool interleaved_;
  double call_seconds_;  ///< the newest estimate of one call
  uint32_t warmups_left_;
  bool warming_ = false, censored_ = false;
  std::vector<double> times_;
};

/// Of a non-empty list; the mean of the two in the middle when their number is even.
double median(std::vector<double> values);

/// Seconds from the start of a candidate's run (checks included) until it is given up.
double run_deadline(const wire::MeasureProfile& profile);

}  // namespace hone::agent
