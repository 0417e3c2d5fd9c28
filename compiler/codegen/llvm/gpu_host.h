// The host's part of an artifact for a GPU: the program as data, and entries that hand it to the runtime.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/runtime/gpu_launch.h"
#include "compiler/target/target.h"

namespace hone {

/// What becomes a HoneGpuProgram (runtime/include/hone_runtime.h, which says what each member means).
struct GpuHostProgram {
  struct Parameter {
    std::string name;
    bool is_output = false;
    DType dtype;
    int64_t elements = 0, plain_elements = 0;
    std::string pack, unpack;  ///< entries of another object of the artifact; empty: none
  };
  std::string name;     ///< of the entries: NAME, NAME_plain, NAME_gpu
  int device_type = 0;  ///< kDLCUDA or kDLOpenCL
  std::string target, arch, binary, text;
  std::vector<GpuLaunch> launches;
  std::vector<Parameter> params;
  int64_t workspace_bytes = 0;
};

/// An object for the CPU `host` with these entries, to be linked with the one that has the packing ones.
std::string emit_gpu_host_object(const GpuHostProgram& program, const Target& host);

}  // namespace hone
