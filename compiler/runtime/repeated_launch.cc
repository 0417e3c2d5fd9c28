#include "compiler/runtime/repeated_launch.h"

namespace hone {
StatusOr<double> RepeatedLaunch::seconds(int64_t calls) {
  if (!is_tried_ && calls >= kRecordedCalls) {
    is_tried_ = true;
    auto recorded = device_.record([&]() -> Status {
      for (int64_t i = 0; i < kRecordedCalls; ++i) HONE_RETURN_IF_ERROR(call_());
      return absl::OkStatus();
    });
    HONE_RETURN_IF_ERROR(device_.health());
    // A driver may refuse to record, and launch all the same.
    if (recorded.ok()) recording_ = *std::move(recorded);
    // The first replay also uploads the recording: it is done before the time is taken.
    if (recording_) HONE_RETURN_IF_ERROR(device_.replay(*recording_));
  }
  return device_.time_region([&]() -> Status {
    int64_t left = calls;
    for (; recording_ && left >= kRecordedCalls; left -= kRecordedCalls)
      HONE_RETURN_IF_ERROR(device_.replay(*recording_));
    for (; left > 0; --left) HONE_RETURN_IF_ERROR(call_());
    return absl::OkStatus();
  });
}

}  // namespace hone
