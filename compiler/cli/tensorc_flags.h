// The flags of tensorc, for the program and for libhone, whose options they are.
#pragma once

#include "base/cli.h"
#include "base/status.h"
#include "compiler/cli/tensorc.h"

namespace hone {

/// Adds tensorc's flags to `app`; parsing it fills `o`, which outlives it.
void add_tensorc_flags(CLI::App& app, const OperatorTable& operators, TensorcOptions& o);

/// Gives `app`, which has all of its flags, its help.
void set_tensorc_help(CLI::App& app);

/// The command `tensorc run m.so`, beside the flags above; it writes to `o`, too, which outlives it.
CLI::App* add_run_command(CLI::App& app, TensorcOptions& o);

}  // namespace hone
