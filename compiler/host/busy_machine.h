// Detects use of this machine by other programs while something is timed: such a time is too long by an unknown factor.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/others_use.h"

namespace hone {

inline constexpr double kEnoughToKnow = 0.5;

/// The machine's account of its CPUs; nothing where the kernel does not say.
using ReadCpuAccount = std::function<std::optional<CpuAccount>()>;

/// Watches from its construction on. The use of this process itself is known exactly, so compiling meanwhile and
/// waiting threads do not count as use by others.
class BusyMachine {
 public:
  /// `account`: of this machine; empty: the kernel's. `clock` outlives it; null: real time.
  explicit BusyMachine(ReadCpuAccount account, const Clock* clock = nullptr);

  /// The use by other programs so far, in words for a line; empty when it is too little to disturb, or not known.
  std::string told() const;
  /// Seconds since it began to watch. The kernel counts in ticks, so figures over less than half a second say little.
  double seconds() const;

 private:
  const ReadCpuAccount account_;
  const SteadyClock steady_;
  const Clock& clock_;
  Clock::TimePoint since_;
  double own_before_ = 0;
  std::optional<CpuAccount> before_;
};

}  // namespace hone
