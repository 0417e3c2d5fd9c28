// An artifact's description of itself since version 4 of its ABI: NAME_artifact, NAME_run and NAME_error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// The data of a HoneArtifact (runtime/include/hone_runtime.h documents each member).
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
    /// A cache that grows in place: the first rows of a buffer with room for `room` rows, with that buffer's strides.
    /// An input has the rows that the call passes, fewer than `room`; the output has one more, at the same address.
    struct Cache {
      size_t axis = 0;
      int64_t room = 0;
      size_t counted_by = 0;  ///< the parameter whose extent says how many rows there are
      size_t input = 0;       ///< of an output: the parameter behind which it stands; of an input: itself
      std::string symbol;     ///< of the number of rows
    };
    std::optional<Cache> cache = {};
  };
  struct Layer {
    std::string name, workload;
    std::string run;  ///< a hidden entry of another object of the artifact
  };
  struct Variant {
    std::string entry;  ///< of another object of the artifact; hidden where there are several variants
    std::string plain;  ///< called by the checked entry: the same or another such entry
    int workers = 1;
    int64_t workspace_bytes = 0, run_workspace_bytes = 0;
    std::vector<Parameter> params;
    std::vector<Layer> layers;  ///< of the checked entry's separate layers; empty: it has none
  };
  std::string name;  ///< of the artifact: NAME_json and, where it has a GPU's code, each variant's ENTRY_gpu are there
  std::string target;  ///< canonical
  bool has_gpu = false;
  bool has_weights_file = false;  ///< the weights of a model are in a file of their own
  /// At least one. Their parameters differ in shapes alone.
  std::vector<Variant> variants = {};
};

}  // namespace hone
