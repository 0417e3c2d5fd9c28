// --model: the workloads of a model instead of those of a file.
#pragma once

#include <ostream>
#include <vector>

#include "base/status.h"
#include "compiler/frontend/onnx/import.h"
#include "compiler/target/target.h"
#include "tuner/cli/tasks_file.h"
#include "tuner/cli/tune.h"

namespace hone {

/// The model of `flags.model`, before anything starts. What was assumed goes to `err`. UserError as import_onnx(), and
/// for targets that models are not built for.
OnnxModel import_model(const OperatorTable& operators, const TunerFlags& flags, std::ostream& err);

struct ModelWork {
  Graph graph;                          ///< as it is built for the target
  std::vector<WeightedWorkload> tasks;  ///< its workloads, weighted by how often each occurs
};

/// The workloads that no template serves are left out, with a line to `err` that names them: their layers keep what
/// they have. UserError where nothing is left.
ModelWork model_work(const OperatorTable& operators, Graph imported, const Target& target, std::ostream& err);

/// The same without a device, for --print-tasks: the target is --target, completed by this machine.
ModelWork model_work_here(const OperatorTable& operators, const TunerFlags& flags, Graph imported, std::ostream& err);

}  // namespace hone
