// The files of a tuner's command.
#pragma once

#include "base/command_files.h"
#include "tuner/cli/tune.h"

namespace hone {

/// Files that the tuner reads: the model with its external data, tasks, ranges, credentials, databases, and files read
/// for it before; and that it writes: database and curve. UserError as import_model() for a file that is no model.
CommandFiles files_of(const TunerFlags& f);

}  // namespace hone
