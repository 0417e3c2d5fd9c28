// Many calls of the same short kernel on a device, and their time on the device, without the host's time to
// launch them.
#pragma once

#include <functional>
#include <memory>

#include "compiler/runtime/device.h"

namespace hone {

/// Calls of a recording. Replaying it is one call of the host's, so the device is not kept waiting.
inline constexpr int64_t kRecordedCalls = 64;

/// Where many calls are asked for at once, some are recorded (Device::record) and replayed: a launch costs the host
/// some microseconds, and a kernel that needs less would be measured as that.
class RepeatedLaunch {
 public:
  /// `call` launches one call's kernels. `device` and everything that `call` uses must outlive this.
  RepeatedLaunch(Device& device, std::function<Status()> call) : device_(device), call_(std::move(call)) {}
  /// Seconds on the device's clock that `calls` calls, one after the other, take together.
  StatusOr<double> seconds(int64_t calls);

 private:
  Device& device_;
  std::function<Status()> call_;
  bool is_tried_ = false;
  std::unique_ptr<DeviceRecording> recording_;  ///< of kRecordedCalls; null where the driver records nothing
};

}  // namespace hone
