// What an artifact says of itself since version 4 of its ABI: NAME_artifact, NAME_run and NAME_error.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// What becomes a HoneArtifact with one variant (runtime/include/hone_runtime.h says what each member means).
struct ArtifactDescription {
  struct Tensor {
    DType dtype;
    std::vector<int64_t> shape;
  };
  struct Parameter {
    std::string name;
    ParamRole role = ParamRole::kInput;
    Tensor plain;
    std::vector<Tensor> packed;
    std::string pack, unpack;  ///< entries of another object of the artifact; empty: none
  };
  struct Layer {
    std::string name, workload;
    std::string run;  ///< a hidden entry of another object of the artifact
  };
  std::string
      name;  ///< of the artifact: NAME, NAME_plain, NAME_json and, where it has a GPU's code, NAME_gpu are there
  std::string target;  ///< canonical
  bool has_gpu = false;
  bool has_weights_file = false;  ///< the weights of a model are in a file of their own
  int workers = 1;
  int64_t workspace_bytes = 0, run_workspace_bytes = 0;
  std::vector<Parameter> params;
  std::vector<Layer> layers;  ///< that NAME_run tells apart; empty: none
};

/// An object for the CPU `host`, to be linked with the others of the artifact.
std::string emit_description_object(const ArtifactDescription& description, const Target& host);

}  // namespace hone
