// The flags of tensorc, for the program and for libhone, whose options they are.
#pragma once

#include "base/cli.h"
#include "compiler/cli/tensorc.h"

namespace hone {

/// What `app` parses goes to `o`, which outlives it.
void add_tensorc_flags(CLI::App& app, const OperatorTable& operators, TensorcOptions& o);

}  // namespace hone
