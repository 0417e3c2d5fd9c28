// The files of a tuner's command.
#pragma once

#include "base/command_files.h"
#include "tuner/cli/tune.h"

namespace hone {

/// What it reads: the model with its external data, tasks, ranges, credentials, databases, and what was read for it
/// before; and what it writes: its database and the curve. UserError as import_model() for what is no model.
CommandFiles files_of(const TunerFlags& f);

}  // namespace hone
