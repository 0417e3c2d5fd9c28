// The flags of tensorc, for the program and for libhone, whose options they are.
#pragma once

#include "base/command_line.h"
#include "base/status.h"
#include "compiler/cli/tensorc.h"

namespace hone {

/// Adds tensorc's flags to `line`; parsing it fills `o`, which outlives it.
void add_tensorc_flags(CommandLine& line, const OperatorTable& operators, TensorcOptions& o);

/// Gives `line`, which has all of its flags, its help.
void set_tensorc_help(CommandLine& line);

/// The command `tensorc run m.so`, beside the flags above; it writes to `o`, too, which outlives it.
void add_run_command(CommandLine& line, TensorcOptions& o);

}  // namespace hone
