// The files that a command of tensorc reads, so that it writes over none of them.
#pragma once

#include "base/command_files.h"
#include "compiler/cli/tensorc.h"

namespace hone {

/// The model with its external data, tensors and samples, ranges, an earlier report, databases, and files that were
/// read for it before. UserError as import_model() for a file that is no model.
CommandFiles files_read(const TensorcOptions& o);

}  // namespace hone
