// Lines about what a command does between its sessions, so that it is never silent for long.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "tuner/cli/time_plan.h"

namespace hone {

class PhaseLine {
 public:
  PhaseLine(std::ostream& err, const Clock& clock, const TimePlan& plan) : err_(err), clock_(clock), plan_(plan) {}

  /// `tuner: building the model as it is`, or `tuner: PHASE, DETAILS`: now.
  void begin(const std::string& phase, const std::string& details = "");
  /// `tuner: building the model as it is: compiling kernels 12/61, left 40 s`: every two seconds at most.
  void tell(std::string_view what, size_t done, size_t all);

 private:
  std::ostream& err_;
  const Clock& clock_;
  const TimePlan& plan_;
  std::string phase_;
  Clock::TimePoint told_{};
};

}  // namespace hone
