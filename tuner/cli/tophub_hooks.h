// The parts of tophub's commands that need compiler and tuner: names of workloads and targets, training, import.
#pragma once

#include "compiler/ops/operator.h"
#include "db/cli/commands.h"

namespace hone {

/// `operators` outlives them.
db::CompilerHooks tophub_hooks(const OperatorTable& operators);

}  // namespace hone
