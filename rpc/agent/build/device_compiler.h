// A verified module -> code for a GPU: CUDA text compiled here, PTX by LLVM where NVRTC is missing or no longer
// supports the GPU, OpenCL text for the driver's own compiler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/runtime/gpu/nvrtc.h"
#include "compiler/target/target.h"
#include "rpc/agent/pipe/device_protocol.h"

namespace hone::agent {

/// Keeps NVRTC loaded, which takes a quarter of a second.
class DeviceCompiler {
 public:
  DeviceCompiler() = default;
  /// Finds the files that `device` needs before the sandbox closes: `folders()` lists the folders that are read later.
  explicit DeviceCompiler(const DeviceSpec& device);

  /// UserError when the module has no form for GPUs, does not compile, or would certainly run badly: it spills more
  /// than kMostSpillBytes a thread.
  DeviceCode compile(const Module& m, const Target& target) const;
  /// Folders of NVRTC and its headers.
  std::vector<std::string> folders() const;
  /// The compiler's name for people; empty where only this machine's CPU is compiled for.
  std::string version() const;

  /// Bytes stored and loaded by spills. A candidate that spills more loses to one with smaller tiles, which are in the
  /// same space.
  static constexpr int64_t kMostSpillBytes = 1024;

 private:
  bool compiles_ahead_ = false;
  std::shared_ptr<const Nvrtc> nvrtc_;  ///< null: not found
};

}  // namespace hone::agent
