// The flags of tuner, for the program and for libhone, whose options they are.
#pragma once

#include "base/cli.h"
#include "tuner/cli/tune.h"

namespace hone {

/// Values that `app` parses go to `f`, which must outlive it.
void add_tuner_flags(CLI::App& app, const OperatorTable& operators, TunerFlags& f);

}  // namespace hone
