// The flags of tuner, for the program and for libhone, whose options they are.
#pragma once

#include "base/command_line.h"
#include "tuner/cli/tune.h"

namespace hone {

/// Values that `line` parses go to `f`, which must outlive it.
void add_tuner_flags(CommandLine& line, const OperatorTable& operators, TunerFlags& f);

}  // namespace hone
