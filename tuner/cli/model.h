// --model: the workloads of a model instead of those of a file.
#pragma once

#include <ostream>
#include <vector>

#include "compiler/target/target.h"
#include "tuner/cli/tasks_file.h"
#include "tuner/cli/tune.h"

namespace hone {

/// The workloads of the model of `flags.model` as they are built for `target`, weighted by how often each occurs. Those
/// that no template serves are left out, with a line to `err`. UserError as import_onnx().
std::vector<WeightedWorkload> model_workloads(const OperatorTable& operators, const TunerFlags& flags,
                                              const Target& target, std::ostream& err);

/// The file of --tasks that says the same: --print-tasks. The target is --target, completed by this machine.
void print_model_tasks(const OperatorTable& operators, const TunerFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace hone
