// Which timed repeats a candidate gets: screening, refining what is near the best, stopping what is clearly slower,
// taking again what was disturbed. No clock, no process: whoever measures asks for the next step and tells how it went.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rpc/wire/messages.h"

namespace hone::agent {

class MeasurePlan {
 public:
  enum class Kind : uint8_t {
    kWarmup,  ///< call the kernel until min_seconds have passed, once at least; not counted
    kRepeat,  ///< the same; counted
    kWait,    ///< nothing but disturbed repeats: wait until the machine is quiet, for as long as there is patience
  };
  struct Step {
    Kind kind = Kind::kRepeat;
    double min_seconds = 0;
  };
  /// How a warm-up or a repeat went.
  struct Taken {
    double seconds = 0;      ///< per call
    bool disturbed = false;  ///< somebody else used the cores: not to be trusted
    double least = 0;        ///< disturbed: seconds per call that the kernel itself took at least
  };

  /// `first_call_seconds`: the call whose outputs were checked. `interleaved`: one of several candidates in turn; each
  /// gets its repeats and nothing is censored or refined.
  MeasurePlan(const wire::MeasureProfile& profile, double first_call_seconds, bool interleaved);

  /// The next step; nothing when the measurement is complete. `seconds_left` until the run's deadline: what would not
  /// fit any more is left out once there is one repeat.
  std::optional<Step> next(double seconds_left);
  /// The warm-up or repeat that next() returned is over.
  void took(const Taken& taken);

  /// Seconds of the undisturbed repeats in the order taken; when the plan drifted(), the fastest disturbed ones follow.
  const std::vector<double>& times() const { return times_; }
  bool censored() const { return censored_; }
  /// There were not enough undisturbed repeats to be had, or it was stopped by disturbed ones.
  bool drifted() const { return drifted_; }
  /// Repeats that were disturbed, and so were taken again.
  uint32_t disturbed() const { return static_cast<uint32_t>(disturbed_.size()); }

 private:
  uint32_t screening() const;
  bool refines() const;
  bool disagree() const;
  bool surely_slower() const;
  std::optional<double> wanted() const;
  bool may_retry() const;
  void give_up();

  const wire::MeasureProfile profile_;
  const bool interleaved_;
  double call_seconds_;  ///< the newest estimate of one call
  uint32_t warmups_left_;
  Step step_;  ///< the latest
  bool censored_ = false, drifted_ = false, over_ = false;
  std::vector<double> times_, disturbed_;
  double disturbed_seconds_ = 0;    ///< that disturbed repeats cost
  int in_a_row_ = 0;                ///< disturbed ones
  double suspect_ = 0;              ///< seconds of a first repeat that would have it stopped; 0: none
  bool suspect_disturbed_ = false;  ///< that one, or the one that would have it stopped now
};

/// `values` is not empty; the mean of the two in the middle when their number is even.
double median(std::vector<double> values);

/// What a profile allows a candidate's run, in seconds.
double run_deadline(const wire::MeasureProfile& profile);

}  // namespace hone::agent
