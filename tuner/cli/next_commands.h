// The next commands for the user to type, as tuner prints them.
#pragma once

#include <string>

#include "compiler/ops/workload.h"
#include "tuner/cli/tune.h"

namespace hone {

/// Builds and times the operator that was tuned, with the configs found, where it was tuned.
std::string operator_build_command(const TunerFlags& flags, const Workload& tuned);

/// Builds the model that was tuned, with the configs found and for the target that it was tuned for.
std::string model_build_command(const TunerFlags& flags);

/// Goes on with the parts of a model's tuning that it had no time for: the command as it was given, without --fresh,
/// which would begin again.
std::string resume_command(const TunerFlags& flags);

/// Sends the team's tophub at `hub` what waits for it in the database at `db`.
std::string sync_command(const TunerFlags& f, const std::string& hub, const std::string& db);

}  // namespace hone
