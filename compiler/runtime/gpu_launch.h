// How a GPU kernel is launched: written by emitters, stored in artifacts, passed to devices.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

/// 1-D blocks of 1-D threads: all that the generator makes.
struct LaunchShape {
  int64_t blocks = 1;
  int64_t threads = 1;
  /// Dynamic shared memory of a block. CUDA: `extern __shared__`, for blocks that need more than a kernel may declare;
  /// OpenCL: one more argument at the end, a __local pointer.
  int64_t dynamic_shared_bytes = 0;
};

/// The launch of a kernel by its name.
struct GpuLaunch {
  std::string kernel;
  LaunchShape shape = {};
  int64_t shared_bytes = 0;  ///< of a block, declared in the code
};

}  // namespace hone
