// The commands of tophub that belong to a fleet.
#pragma once

#include "db/cli/commands.h"

namespace hone {

/// Adds `serve`; without a fleet (the preset `compiler`) it says in one line that it is not there.
void add_fleet_commands(db::CompilerHooks& hooks);

}  // namespace hone
