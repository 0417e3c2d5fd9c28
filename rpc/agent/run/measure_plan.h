// The plan of a candidate's timed repeats: screening, refining those near the best, stopping those clearly slower,
// repeating disturbed ones. It has no clock and no process: its caller asks for the next step and reports how it went.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rpc/wire/messages/messages.h"

namespace hone::agent {

class MeasurePlan {
 public:
  enum class Kind : uint8_t {
    kWarmup,  ///< call the kernel until min_seconds have passed, at least once; not counted
    kRepeat,  ///< the same; counted
    kWait,    ///< only disturbed repeats so far: wait until the machine is quiet, as long as the wait budget allows
  };
  struct Step {
    Kind kind = Kind::kRepeat;
    double min_seconds = 0;
  };
  /// The outcome of a warm-up or a repeat.
  struct Taken {
    double seconds = 0;      ///< per call
    bool disturbed = false;  ///< other processes used the cores: not to be trusted
    double least = 0;        ///< disturbed: seconds per call that the kernel itself took at least
  };

  /// `first_call_seconds`: the call whose outputs were checked. `interleaved`: one of several candidates in turn; each
  /// gets its repeats and nothing is censored or refined.
  MeasurePlan(const wire::MeasureProfile& profile, double first_call_seconds, bool interleaved);

  /// The next step; nothing when the measurement is complete. `seconds_left` until the run's deadline: once there is
  /// one repeat, steps that would not fit are left out.
  std::optional<Step> next(double seconds_left);
  /// The warm-up or repeat that next() returned is over.
  void took(const Taken& taken);

  /// Seconds of the undisturbed repeats in the order taken; when the plan drifted(), the fastest disturbed ones follow.
  const std::vector<double>& times() const { return times_; }
  bool censored() const { return censored_; }
  /// There were too few undisturbed repeats, or disturbed ones stopped the candidate.
  bool drifted() const { return drifted_; }
  /// Repeats that were disturbed and therefore taken again.
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
  double disturbed_seconds_ = 0;    ///< seconds that disturbed repeats cost
  int in_a_row_ = 0;                ///< disturbed ones
  double suspect_ = 0;              ///< a first repeat at least this long stops the candidate; 0: none does
  bool suspect_disturbed_ = false;  ///< the limit above, or the one that would stop it now
};

/// `values` is not empty; with an even number of them the mean of the two in the middle.
double median(std::vector<double> values);

/// The deadline that a profile gives a candidate's run, in seconds.
double run_deadline(const wire::MeasureProfile& profile);

}  // namespace hone::agent
