// Timing of a kernel: warm-up, repeats of a minimum length, early stop of clearly slow ones.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace hone {

class Device;

struct TimeOptions {
  int warmup = 1;            ///< untimed calls
  int repeats = 3;           ///< timed repeats
  double min_repeat_ms = 2;  ///< each repeat makes enough calls to last this long
  /// Stop after the first repeat (or warm-up call) slower than this per call; 0 = never.
  double censor_above_seconds = 0;
  double deadline_seconds = 0;  ///< stop when all repeats so far took longer than this; 0 = never
  /// Bytes to read and write before each call, untimed, which evicts the caches; a repeat is then a single call.
  int64_t flush_bytes = 0;
};

struct TimeResult {
  std::vector<double> seconds;  ///< of each repeat, per call, in the order measured; at least one
  bool censored = false;        ///< stopped early because it was slow or out of time
  int64_t calls = 0;            ///< timed calls in all
  double median() const;
  double minimum() const;
};

/// Times any kind of call: `run` makes a number of calls, one after the other, and returns the seconds that they took
/// together.
StatusOr<TimeResult> time_calls(const std::function<StatusOr<double>(int64_t calls)>& run, const TimeOptions& options);

/// Times `call`, which returns an entry's code (HONE_OK goes on, any other ends with status_of(code)). Where warm-up
/// alone is slower than the censoring limit, its one timed call is the only repeat.
StatusOr<TimeResult> time_kernel(const std::function<int32_t()>& call, const TimeOptions& options, const Clock& clock);

/// Times the launches of `launch` by the device's clock. With flush_bytes above zero the device's own cache size
/// decides how much is flushed.
StatusOr<TimeResult> time_on_device(Device& device, const std::function<Status()>& launch, const TimeOptions& options);

}  // namespace hone
