// --model: the workloads of a model instead of those of a file.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/model_request.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/target/target.h"
#include "tuner/cli/tasks_file.h"
#include "tuner/cli/tune.h"

namespace hone {

/// A model with one value for each of --bind and --shape.
struct ModelGraph {
  std::string name;  ///< `batch=4`: what sets it apart from the others; empty where there is one
  ReadModel read;    ///< as it was read; without its graph once that is prepared
  Graph graph;       ///< as it is built for the target; empty until it is prepared
  bool sums_in_f16 = false;

  const Growth* growth() const { return read.growth(); }
};

/// The model of `flags.model` for every combination of its flags' values (request_of()), before anything starts.
/// What was assumed goes to `err`, once. UserError as import_onnx(), and for targets that models are not built for.
std::vector<ModelGraph> import_model(const OperatorTable& operators, const TunerFlags& flags, std::ostream& err);

struct ModelWork {
  std::vector<ModelGraph> variants;     ///< as they are built for the target
  std::vector<WeightedWorkload> tasks;  ///< their workloads, each once, weighted by how often it occurs in all of them
  std::vector<WeightedWorkload> alternatives;  ///< what passes would have compared, had it been measured; each once
};

/// The workloads that no template serves are left out, with a line to `err` that names them: their layers keep what
/// they have. UserError where nothing is left. `measured`: seconds of workloads on the target, as passes ask for them.
ModelWork model_work(const OperatorTable& operators, std::vector<ModelGraph> imported, const Target& target,
                     std::ostream& err, const MeasuredTime& measured = {});

/// The same without a device, for --print-tasks: the target is --target, completed by this machine.
ModelWork model_work_here(const OperatorTable& operators, const TunerFlags& flags, std::vector<ModelGraph> imported,
                          std::ostream& err);

}  // namespace hone
