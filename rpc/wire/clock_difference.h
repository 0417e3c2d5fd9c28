// Whether this machine's clock agrees with the tracker's: dates that a wrong one gives are stored with trials.
#pragma once

#include <string>

namespace hone::wire {

/// Tells people of a clock that is not the tracker's, once until both agree again. For one thread only.
class ClockReminder {
 public:
  /// Seconds: how far the network and a clock that is set by hand may be off.
  static constexpr double kSlack = 60;

  /// The line that is due, if there is one: `own` is this machine's clock, `tracker` the tracker's, in seconds since
  /// 1970. A tracker whose own clock was evidently never set, or that does not tell (0), says nothing about ours.
  std::string due(double own, double tracker);

 private:
  bool told_ = false;
};

/// Logs a due warning. Thread-safe; the clients of one process share a reminder.
void compare_clocks(double tracker);

}  // namespace hone::wire
