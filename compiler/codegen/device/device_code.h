// A Module's code for a GPU. The only position that chooses the compiler: OpenCL text goes to the device's driver; CUDA
// is compiled by NVRTC where a library on this machine knows the architecture, else to PTX by LLVM.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/gpu/nvrtc.h"
#include "compiler/target/target.h"

namespace hone {

/// The module in the target's language: CUDA C++ or OpenCL C.
GpuSource gpu_text(const Module& m, const Target& target);

/// NVRTC for `target.arch`; null when no library on this machine knows it, and for OpenCL.
std::shared_ptr<const Nvrtc> nvrtc_for(const Target& target, const NvrtcOptions& options);

/// Code in the form that a device's driver loads.
struct DeviceImageCode {
  bool is_text = false;  ///< for the driver's compiler (OpenCL C); otherwise a cubin or PTX
  std::string bytes;
  std::vector<GpuLaunch> launches;
  std::vector<KernelInfo> kernels;  ///< NVRTC's figures; empty where it did not compile
};
/// `nvrtc` may be null, or not know the architecture: LLVM then writes PTX. UserError for a module that has no form as
/// GPU code, or that NVRTC refuses.
DeviceImageCode image_code(const Module& m, const Target& target, const Nvrtc* nvrtc);

struct PtxCode {
  GpuSource source;
  /// The compiler: `NVRTC 13.0`, or `LLVM` with the reason why not NVRTC, and GpuSource::notes.
  std::string by;
};

/// PTX for target.arch. UserError for a module that has no form, and for a target that is not cuda.
PtxCode ptx_code(const Module& m, const Target& target, const NvrtcOptions& options);

/// All that an artifact holds for the device: OpenCL C; for CUDA PTX and, where NVRTC knows the architecture, a cubin.
struct GpuArtifactCode {
  GpuSource source;    ///< text and launches
  std::string binary;  ///< the cubin; empty: none
  std::string by;      ///< the compiler: as in PtxCode, or `the device's driver` for OpenCL
};
GpuArtifactCode gpu_artifact_code(const Module& m, const Target& target, const NvrtcOptions& options);
/// The same with the result of nvrtc_for().
GpuArtifactCode gpu_artifact_code(const Module& m, const Target& target, const Nvrtc* nvrtc);

}  // namespace hone
