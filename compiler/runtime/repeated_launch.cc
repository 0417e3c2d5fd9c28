#include "compiler/runtime/repeated_launch.h"

namespace hone {
namespace {

// Replaying costs the host about 10 us, however many calls there are: of 64, the shortest kernels need more.
constexpr int64_t kRecorded = 64;

}  // namespace

StatusOr<double> RepeatedLaunch::seconds(int64_t calls) {
  if (!is_tried_ && calls >= kRecorded) {
    is_tried_ = true;
    auto recorded = device_.record([&]() -> Status {
      for (int64_t i = 0; i < kRecorded; ++i) HONE_RETURN_IF_ERROR(call_());
      return absl::OkStatus();
    });
    HONE_RETURN_IF_ERROR(device_.health());
    // A driver may refuse to record, and launch all the same.
    if (recorded.ok()) recording_ = *std::move(recorded);
    // What a first replay brings to the device is not counted.
    if (recording_) HONE_RETURN_IF_ERROR(device_.replay(*recording_));
  }
  return device_.time_region([&]() -> Status {
    int64_t left = calls;
    for (; recording_ && left >= kRecorded; left -= kRecorded) HONE_RETURN_IF_ERROR(device_.replay(*recording_));
    for (; left > 0; --left) HONE_RETURN_IF_ERROR(call_());
    return absl::OkStatus();
  });
}

}  // namespace hone
