// A variant of a model's artifact, checked and timed on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/given_inputs.h"
#include "compiler/driver/request/events.h"
#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/graph/graph.h"
#include "compiler/host/busy_machine.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/check/check_progress.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/run_model.h"

namespace hone {

struct VariantHere {
  std::string name;  ///< it begins each line; empty where there is one variant
  const Graph& graph;
  const Graph& imported;  ///< the graph of before all passes, for a check
  const Layers& layers;
  const Target& target;  ///< this machine
  const Growth* growth;  ///< caches that grow in place, which are run with the most rows; null: there are none
  Denormals denormals = kUsualDenormals;  ///< how the artifact treats them
  /// The device of a model for a GPU, and its target; `target` is the CPU beside it. Both null for CPUs.
  Device* gpu = nullptr;
  const Target* gpu_target = nullptr;
  const ModelMetadata* metadata = nullptr;  ///< the notes of the model's file; null: none
};

/// The request for a run.
struct RunRequest {
  bool check = false, bench = false;
  double check_seconds = 0;             ///< that a check may take, roughly
  const TestTensors* given = nullptr;   ///< null: it runs on seeded inputs
  const ReadCpuAccount& cpu_account;    ///< as BuildRequest::cpu_account
  const CheckProgress& check_progress;  ///< may be empty
};

/// An output beside the one that is wanted.
struct OutputDifference {
  std::string name;
  std::string type, wanted_type;   ///< where they differ, and nothing else is compared
  double largest = 0, in_all = 0;  ///< as Difference
};

/// The results of running a variant.
struct VariantFigures {
  std::vector<double> kernel_seconds;                     ///< empty: not measured
  std::optional<double> median_seconds, fastest_seconds;  ///< of a run; nothing: not measured
  size_t times = 0;                                       ///< that they are of
  std::string check;                                      ///< the result of a check, in words; empty: nothing
  bool is_wrong = false;                                  ///< `check` says where
  std::vector<std::optional<double>> errors;              ///< by layer, as of LayerCheck
  std::vector<OutputDifference> outputs;                  ///< beside those that were given
  std::vector<std::string> labels;                        ///< best_labels() of what given inputs lead to
};

/// Runs the variant once, and does the requested work. Results are noted and written to `*figures`, wrong ones, too.
/// Internal for a wrong result, kExitDiffers' status when outputs differ from the given ones.
Status run_variant(const VariantHere& v, const RunRequest& request, LoadedModel loaded, VariantFigures* figures,
                   const Events& events);

}  // namespace hone
