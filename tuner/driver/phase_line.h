// Lines about the work of a command between its sessions, so that it is never silent for long.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "compiler/driver/request/events.h"
#include "tuner/driver/time_plan.h"

namespace hone {

class PhaseLine {
 public:
  PhaseLine(const Events& events, const Clock& clock, const TimePlan& plan)
      : events_(events), clock_(clock), plan_(plan) {}

  /// `building the model as it is`, or `PHASE, DETAILS`: now.
  void begin(const std::string& phase, const std::string& details = "");
  /// `building the model as it is: compiling kernels 12/61, left 40 s`: every two seconds at most.
  void tell(std::string_view what, size_t done, size_t all);

 private:
  const Events& events_;
  const Clock& clock_;
  const TimePlan& plan_;
  std::string phase_;
  Clock::TimePoint told_{};
};

}  // namespace hone
