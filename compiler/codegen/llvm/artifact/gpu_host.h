// The host's part of an artifact for a GPU: the program as data, and entries that hand it to the runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/artifact/model_program.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/gpu_launch.h"
#include "compiler/target/target.h"

namespace hone {

/// The data of a HoneGpuProgram (runtime/include/hone_runtime.h documents each member).
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

/// The data of HoneGpuModels, one for each variant of a model.
struct GpuHostModel {
  struct Slot {
    int in = 0;      ///< HONE_GPU_ARENA, …
    int tensor = 0;  ///< of the call
    int64_t offset = 0, bytes = 0;
  };
  struct Step {
    std::string name, workload;
    int program = -1;  ///< of `programs`; -1: a copy, or a host function
    std::vector<Slot> slots;
    /// Becomes a HoneGpuHostFunction.
    struct Host {
      std::string name;  ///< hone_internal_NAME of another object of the artifact
      std::vector<int64_t> numbers;
      int64_t input_count = 0, workspace_bytes = 0;
    };
    std::optional<Host> host = std::nullopt;
  };
  /// Becomes a HoneGpuCache.
  struct Cache {
    int input = 0, output = 0, axis = 0;
    int64_t matrices = 1, room = 0, row_bytes = 0;
  };
  /// Becomes a HoneGpuPart.
  struct Part {
    int64_t first_step = 0, step_count = 0;
    int copies = 0;  ///< HONE_GPU_COPY_INPUTS, …
  };
  struct Variant {
    GpuHostProgram head;  ///< without code and launches; its name is the variant's
    std::vector<Step> steps;
    std::vector<Cache> caches = {};  ///< that grow in place
    std::vector<Part> parts = {};    ///< its layers
  };
  std::string name;  ///< of the artifact
  std::vector<Variant> variants;
  std::vector<GpuHostProgram> programs;  ///< of all variants
  int64_t alignment = 0;
  std::string json;          ///< exported as NAME_json
  int64_t weight_bytes = 0;  ///< of the hidden symbol NAME.weights of another object; 0: there is none
  /// The weights are in a file of their own instead.
  std::optional<ModelProgram::WeightsFile> weights_file = {};
};

/// The same of a model: NAME, NAME_plain, and NAME_gpu, its HoneGpuModel, for the name of each variant (of several,
/// hidden); a hidden entry of each part, step_symbol(); and NAME_json; and the symbols of emit_model_object() for
/// weights in a file of their own.
std::string emit_gpu_model_object(const GpuHostModel& model, const Target& host);

/// An object for the CPU `host` with these entries, to be linked with the one that has the packing ones.
std::string emit_gpu_host_object(const GpuHostProgram& program, const Target& host);

}  // namespace hone
