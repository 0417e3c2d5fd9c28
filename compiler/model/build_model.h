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
};

/// Compiles the layers, packs the weights and plans the memory. The artifact exports NAME and NAME_run (see
/// hone_runtime.h): they take the inputs and outputs of the graph, in order, and an arena as workspace. UserError where
/// a workload has no template for the target.
BuiltModel build_model(const Graph& g, const ModelOptions& options);

}  // namespace hone
