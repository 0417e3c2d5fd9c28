// A Module's code for a GPU, by whichever compiler this machine has.
#pragma once

#include <string>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/nvrtc.h"
#include "compiler/target/target.h"

namespace hone {

struct PtxCode {
  GpuSource source;
  std::string by;  ///< who wrote it: `NVRTC 13.0`, or `LLVM` with the reason why not NVRTC
};

/// PTX for target.arch: NVRTC's where a library is here that knows the architecture, else LLVM's. UserError for a
/// module that has no form, and for a target that is not cuda.
PtxCode ptx_code(const Module& m, const Target& target, const NvrtcOptions& nvrtc);

/// All that an artifact holds for the device: OpenCL C; for CUDA PTX and, where NVRTC knows the architecture, a cubin.
struct GpuArtifactCode {
  GpuSource source;    ///< text and launches
  std::string binary;  ///< the cubin; empty: none
  std::string by;      ///< who compiled: as PtxCode, or `the device's driver` for OpenCL
};
GpuArtifactCode gpu_artifact_code(const Module& m, const Target& target, const NvrtcOptions& nvrtc);

}  // namespace hone
