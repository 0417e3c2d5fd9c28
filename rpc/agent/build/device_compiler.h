// A verified module -> code for a GPU: CUDA text compiled here, PTX by LLVM where NVIDIA's compiler is missing or knows
// the GPU no more, OpenCL text for the driver's own compiler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/runtime/nvrtc.h"
#include "compiler/target/target.h"
#include "rpc/agent/pipe/device_protocol.h"

namespace hone::agent {

/// Keeps NVIDIA's compiler, which takes a quarter of a second to load.
class DeviceCompiler {
 public:
  DeviceCompiler() = default;
  /// Finds what `device` needs, before the sandbox closes: `folders()` are what it reads later.
  explicit DeviceCompiler(const DeviceSpec& device);

  /// UserError when the module has no form for GPUs, does not compile, or would run badly for sure: it spills more than
  /// kMostSpillBytes a thread.
  DeviceCode compile(const Module& m, const Target& target) const;
  /// Of NVIDIA's compiler and its headers.
  std::vector<std::string> folders() const;
  /// For people; empty when this machine's CPU is all it is for.
  std::string version() const;

  /// Stored and loaded. A candidate that spills so much loses to one with smaller tiles, which are in the same space.
  static constexpr int64_t kMostSpillBytes = 1024;

 private:
  bool cuda_ = false;
  std::shared_ptr<const Nvrtc> nvrtc_;  ///< null: none is here
};

}  // namespace hone::agent
