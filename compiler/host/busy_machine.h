// Whether others used this machine while something was timed on it: such a time is too long, by nobody knows how much.
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

/// Watches from its construction on. What this process itself uses is known exactly, so that compiling meanwhile, or
/// threads that wait, are nobody else's use.
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
