// The workloads of a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/read_model.h"
#include "compiler/driver/request/events.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/target/target.h"
#include "tuner/driver/tasks_file.h"
#include "tuner/driver/tune_request.h"

namespace hone {

/// A model with one value for each of --bind and --shape.
struct ModelGraph {
  std::string name;  ///< `batch=4`: its difference from the others; empty if there is one
  ReadModel read;    ///< as it was read; without its graph once that is prepared
  Graph graph;       ///< as it is built for the target; empty until it is prepared
  std::shared_ptr<const ModelRequest> request = nullptr;  ///< what is asked of its passes; null: nothing

  const Growth* growth() const { return read.growth(); }
};

/// The model for each of bindings_of(request), before anything starts. Assumptions are noted, once. UserError as
/// ModelReader's.
std::vector<ModelGraph> import_model(const OperatorTable& operators, const ModelRequest& request, const Events& events);

struct ModelWork {
  std::vector<ModelGraph> variants;     ///< as they are built for the target
  std::vector<WeightedWorkload> tasks;  ///< their workloads, each once, weighted by how often it occurs in all of them
  std::vector<WeightedWorkload> alternatives;  ///< those that passes would have compared, had they been measured
};

/// The workloads that no template serves are left out, with a line that names them: their layers keep what
/// they have. UserError where nothing is left. `measured`: seconds of workloads on the target, as passes ask for them.
ModelWork model_work(const OperatorTable& operators, std::vector<ModelGraph> imported, const Target& target,
                     const Events& events, const MeasuredTime& measured = {});

/// The same without a device: the target is the request's, completed by this machine.
ModelWork model_work_here(const OperatorTable& operators, const TuneRequest& request, std::vector<ModelGraph> imported,
                          const Events& events);

}  // namespace hone
