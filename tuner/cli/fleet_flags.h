// The flags that name a device of a fleet, for tuner and tensorc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "tuner/driver/tune_request.h"

namespace hone {

/// --tracker, which `tracker_text` explains, --device, --label, --fleet and other credentials, --insecure: of the flags
/// of `f`, which outlives `line`.
void add_fleet_flags(CommandLine& line, TuneRequest& f, const std::string& tracker_text);

/// The files that their credentials are read from, by their flags' names; paths may be empty.
std::vector<std::pair<std::string, std::string>> credential_files(const TuneRequest& f);

}  // namespace hone
