// From a graph to the artifact of a model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/build/artifact.h"
#include "compiler/graph/graph.h"
#include "compiler/model/layers.h"
#include "compiler/model/memory_plan.h"

namespace hone {

struct ModelOptions {
  std::string name;  ///< of the artifact: a C identifier
  Target target;     ///< a CPU, complete
  ChooseConfig choose;
  /// The name, without a folder, of the file that the weights are in; empty: they are in the artifact, unless they take
  /// more than `most_embedded` bytes: then that name is NAME.weights.
  std::string weights_file = {};
  int64_t most_embedded = int64_t{1} << 30;
  /// Told what is done, now and then: `compiling layers`, how many of how many.
  std::function<void(std::string_view what, size_t done, size_t all)> progress = {};
};

struct BuiltModel {
  std::vector<ArtifactObject> objects;  ///< for link_artifact(): the model, and its pool of threads
  std::string header;                   ///< a C header
  std::string json;                     ///< what NAME_json holds
  Layers layers;
  MemoryPlan memory;
  int64_t weight_bytes = 0;
  std::string weights_file;  ///< its name; empty: the weights are in the artifact
  std::string weights;       ///< what that file holds, for processes to map and share
};

/// Compiles the layers, packs the weights and plans the memory. The artifact exports NAME and NAME_run (see
/// hone_runtime.h): they take the inputs and outputs of the graph, in order, and an arena as workspace. UserError where
/// a workload has no template for the target, or weights of a file their own no C code for it.
BuiltModel build_model(const Graph& g, const ModelOptions& options);

}  // namespace hone
