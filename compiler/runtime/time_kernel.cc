#include "compiler/runtime/time_kernel.h"

#include <algorithm>
#include <cmath>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/buffer.h"
#include "compiler/runtime/device.h"
#include "compiler/runtime/repeated_launch.h"

namespace hone {
namespace {

// Walks over memory larger than the caches, so that the next call finds its data outside of them.
class CacheFlush {
 public:
  explicit CacheFlush(int64_t bytes) : memory_(bytes) { std::fill_n(memory_.as<char>(), bytes, 0); }
  void run() {
    volatile char* p = memory_.as<char>();
    for (int64_t i = 0; i < memory_.bytes(); i += 64) p[i] = static_cast<char>(p[i] + 1);
  }

 private:
  AlignedBuffer memory_;
};

double seconds_between(Clock::TimePoint from, Clock::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

double TimeResult::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  if (n == 0) return std::nan("");
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double TimeResult::minimum() const {
  return seconds.empty() ? std::nan("") : *std::min_element(seconds.begin(), seconds.end());
}

StatusOr<TimeResult> time_calls(const std::function<StatusOr<double>(int64_t calls)>& run_calls,
                                const TimeOptions& options) {
  TimeResult out;
  double spent = 0, last = 0;
  const auto run = [&](int64_t calls) -> Status {
    HONE_ASSIGN_OR_RETURN(const double seconds, run_calls(calls));
    spent += seconds;
    last = seconds / static_cast<double>(calls);
    return absl::OkStatus();
  };
  const auto too_slow = [&] {
    return (options.censor_above_seconds > 0 && last > options.censor_above_seconds) ||
           (options.deadline_seconds > 0 && spent > options.deadline_seconds);
  };
  const auto censored = [&] {
    if (out.seconds.empty()) out.seconds.push_back(last), out.calls = 1;
    out.censored = true;
    return out;
  };
  for (int i = 0; i < options.warmup; ++i) {
    HONE_RETURN_IF_ERROR(run(1));
    if (too_slow()) return censored();
  }
  if (options.warmup <= 0) {
    HONE_RETURN_IF_ERROR(run(1));  // the calls of a repeat are calculated from this
    if (too_slow()) return censored();
  }
  const double want = options.min_repeat_ms / 1e3;
  int64_t calls = 1;
  const auto enough = [&](double per_call) {
    return options.flush_bytes > 0
               ? 1
               : std::max<int64_t>(1, static_cast<int64_t>(std::ceil(want / std::max(per_call, 1e-9))));
  };
  calls = std::min<int64_t>(enough(last), int64_t{1} << 30);
  for (int i = 0; i < std::max(1, options.repeats); ++i) {
    // The first, cold call overestimates: go on with more until the repeat is long enough, and keep that number.
    while (true) {
      HONE_RETURN_IF_ERROR(run(calls));
      if (options.flush_bytes > 0 || last * static_cast<double>(calls) >= want * 0.9 || too_slow() ||
          calls >= (int64_t{1} << 30))
        break;
      calls = std::clamp(enough(last), calls + 1, calls * 16);
    }
    out.seconds.push_back(last);
    out.calls += calls;
    if (i + 1 < options.repeats && too_slow()) return censored();
  }
  return out;
}

StatusOr<TimeResult> time_kernel(const std::function<int32_t()>& call, const TimeOptions& options, const Clock& clock) {
  CacheFlush flush(options.flush_bytes);
  // Without flushing there is nothing but the calls between the two clock reads.
  return time_calls(
      [&](int64_t calls) -> StatusOr<double> {
        if (options.flush_bytes > 0) flush.run();
        const Clock::TimePoint start = clock.now();
        for (int64_t i = 0; i < calls; ++i)
          if (const int32_t code = call(); code != HONE_OK) return status_of(code);
        return seconds_between(start, clock.now());
      },
      options);
}

StatusOr<TimeResult> time_on_device(Device& device, const std::function<Status()>& launch, const TimeOptions& options) {
  RepeatedLaunch repeated(device, launch);
  return time_calls(
      [&](int64_t calls) -> StatusOr<double> {
        if (options.flush_bytes > 0) HONE_RETURN_IF_ERROR(device.flush_cache());
        return repeated.seconds(calls);
      },
      options);
}

}  // namespace hone
