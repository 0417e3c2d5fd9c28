// The text of `tophub --help`: the commands, and the flags that all of them take.
#pragma once

#include "base/help.h"

namespace hone::db {

/// For set_help() (base/help.h).
Help tophub_help();

}  // namespace hone::db
