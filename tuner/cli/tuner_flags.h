// The flags of tuner, for the program and for libhone, whose options they are.
#pragma once

#include "base/cli.h"
#include "tuner/cli/tune.h"

namespace hone {

/// What `app` parses goes to `f`, which outlives it.
void add_tuner_flags(CLI::App& app, const OperatorTable& operators, TunerFlags& f);

/// Those of them that name a device of a fleet, and who asks for it: --tracker, which `tracker_text` explains,
/// --device,
/// --label, credentials, --insecure.
void add_fleet_flags(CLI::App& app, TunerFlags& f, const std::string& tracker_text);

}  // namespace hone
