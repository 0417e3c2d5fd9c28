// From a graph to the artifact of a model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/build/artifact.h"
#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/plan/memory_plan.h"

namespace hone {

struct ModelOptions {
  std::string name;  ///< of the artifact: a C identifier
  Target target;     ///< complete; variants for CPUs differ from it in threads alone
  ChooseConfig choose;
  /// The name, without a folder, of the file that the weights are in; empty: they are in the artifact, unless they take
  /// more than `most_embedded` bytes: then that name is NAME.weights.
  std::string weights_file = {};
  int64_t most_embedded = int64_t{1} << 30;
  bool in_c = false;                      ///< C source instead of objects; of CPUs
  std::string header = {};                ///< the file, without a folder, that C source includes; empty: NAME.h
  Denormals denormals = kUsualDenormals;  ///< of CPUs: a GPU's code keeps them
  bool assume_finite = false;             ///< Module::assume_finite, of all kernels
  ModelMetadata metadata = {};            ///< the file's notes, on inputs as callers pass them
  Target host = {};                       ///< of a model for a GPU: the CPU that its artifact is loaded on, complete
  /// Called now and then with the progress: `compiling layers`, how many of how many.
  std::function<void(std::string_view what, size_t done, size_t all)> progress = {};
};

/// One build of a model: for one binding of its free dimensions and one number of threads.
struct ModelVariant {
  /// `batch=4, 2 threads`: distinguishes it from the others; empty when it is the only one.
  std::string name;
  const Graph* graph = nullptr;  ///< behind all passes; outlives all that is made from it
  Target target;
  const Growth* growth = nullptr;  ///< caches that grow in place; null: there are none; lives as long as the graph
};

/// A buffer of the arena, as it was planned.
struct PlannedBuffer {
  ArenaBuffer needed;
  int64_t offset = 0;
  std::vector<ValueId> values;  ///< that lie in it, one after the other; none: it is the workspace of a call
  size_t call = 0;              ///< whose workspace it is
};

struct BuiltVariant {
  std::string name;  ///< ModelVariant::name
  Layers layers;
  MemoryPlan memory;
  std::vector<PlannedBuffer> buffers = {};  ///< those that are not empty
};

struct BuiltModel {
  std::vector<ArtifactObject> objects;  ///< for link_artifact(): the model, and its pool of threads
  std::string c_source;                 ///< with ModelOptions::in_c, instead of objects
  std::string header;                   ///< a C header
  std::string json;                     ///< the text of NAME_json
  std::vector<BuiltVariant> variants;
  size_t kernels = 0;  ///< functions that were compiled; variants share equal ones
  int64_t weight_bytes = 0;
  int64_t more_weight_bytes = 0;  ///< of these: added by the variants behind the first one
  std::string weights_file;       ///< its name; empty: the weights are in the artifact
  std::string weights_begin;      ///< the first bytes of that file; processes map it and share it
  std::string weights;            ///< and the bytes behind
};

/// Compiles the layers, packs the weights and plans the memory. The artifact exports NAME and NAME_run (see
/// hone_runtime.h): they take the inputs and outputs of the graph, in order, and an arena as workspace. UserError where
/// a workload has no template for the target, or weights of a file their own no C code for it.
BuiltModel build_model(const Graph& g, const ModelOptions& options);

/// The same for several variants, in the order in which calls look for one that fits: with equal inputs the one with
/// the most threads first. They share equal weights and kernels. UserError for two graphs with inputs of the same
/// shapes, and for variants that differ in more than shapes and threads, or with growing caches in more than threads.
BuiltModel build_model(const std::vector<ModelVariant>& variants, const ModelOptions& options);

}  // namespace hone
