// One candidate on a device: its code loaded, its buffers there, checked and timed. The counterpart of candidate.h for
// GPUs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/device.h"
#include "compiler/runtime/repeated_launch.h"
#include "rpc/agent/pipe/device_protocol.h"
#include "rpc/agent/run/output_check.h"

namespace hone::agent {

/// A buffer followed by a margin that reveals an overrun.
struct MarkedBuffer {
  std::unique_ptr<DeviceBuffer> buffer;
  int64_t bytes = 0;  ///< without the margin
};

class DeviceCandidate final : public CheckedKernel {
 public:
  /// Loads `request.code`; `inputs`: one for each parameter, null for outputs; they outlive the candidate. Throws
  /// CandidateFailure.
  DeviceCandidate(Device& device, const CheckRequest& request, const std::vector<DeviceBuffer*>& inputs);

  /// Throws CandidateFailure.
  CheckReply check(const std::vector<Expected>& expected);
  /// Every failure is in the reply. The outputs are poisoned before the first timed calls and compared with those of
  /// the checked call afterwards: a kernel whose values change from run to run has a race, and one that leaves the
  /// poison writes nothing.
  TimeReply time(const TimeRequest& request);

  void poison_outputs(uint8_t pattern) override;
  double call_once() override;
  const void* output(size_t param) override;

 private:
  Status launch();
  double timed(int64_t calls);
  void check_margins();
  void check_repeatable();

  Device& device_;
  const ModuleInfo info_;
  std::unique_ptr<DeviceProgram> program_;
  std::vector<BoundLaunch> launches_;
  std::map<size_t, MarkedBuffer> outputs_;  ///< one for each parameter, then the workspace
  std::vector<DeviceBuffer*> arguments_;
  std::vector<char> output_;                   ///< the result of output()
  std::map<size_t, std::vector<char>> first_;  ///< logical outputs of the checked call, until they are compared
  RepeatedLaunch repeated_;
  double call_seconds_ = 0;
};

/// The candidate's result for an error of the device.
CandidateFailure failure_of(const Status& status, const std::string& what);

}  // namespace hone::agent
