// A fleet's device, as tensorc knows it: kernels are checked and timed there. tuner/ implements it over the network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/module.h"
#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone {

/// A program of a workload, as lower_config() makes it.
struct RemoteKernel {
  const Workload& workload;
  const Module& module;
};

/// A device's figures of one kernel, run on seeded inputs.
struct RemoteFigures {
  double seconds = 0, spread = 0;  ///< the median of its repeats; how far apart they are, as a share of it
  bool is_disturbed = false;       ///< others used the device all along, or it was throttled: the times may be too long
  double rel_error = 0;            ///< of its outputs, where they agree with the reference
  std::string wrong;               ///< why it has no times, in one line; empty: it is right
};

class RemoteDevice {
 public:
  virtual ~RemoteDevice() = default;
  /// The target that kernels for it are built for.
  virtual const Target& target() const = 0;
  /// The fleet's name of it, `pi4/cpu`; for several equal ones their number: `3 devices`.
  virtual std::string name() const = 0;
  /// Figures of each kernel, in order. `done`, which may be empty, is called now and then with the number of kernels
  /// that are ready. Errors are the fleet's.
  virtual StatusOr<std::vector<RemoteFigures>> run(const std::vector<RemoteKernel>& kernels,
                                                   const std::function<void(size_t)>& done) = 0;
};

/// Finds the device that a command line names, for a target as --target has it and a number of threads (0: the
/// device's).
using FindRemoteDevice = std::function<StatusOr<std::unique_ptr<RemoteDevice>>(const std::string& target, int threads)>;

}  // namespace hone
