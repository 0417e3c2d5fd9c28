// The commands that tuner prints: what to type next.
#pragma once

#include <string>

#include "compiler/ops/workload.h"
#include "tuner/cli/tune.h"

namespace hone {

/// Builds and times the operator that was tuned, with what was found, where it was tuned.
std::string operator_build_command(const TunerFlags& flags, const Workload& tuned);

/// Builds the model that was tuned, with what was found and for where it was tuned.
std::string model_build_command(const TunerFlags& flags);

/// Goes on with what a model's tuning had no time for: the command as it was given, but for --fresh, which would begin
/// again.
std::string resume_command(const TunerFlags& flags);

}  // namespace hone
