// Targets as users of this machine give them.
#pragma once

#include <string_view>

#include "compiler/target/target.h"

namespace hone {

/// Target::parse(), and `llvm -mcpu=znver3` without -mtriple is of this machine's architecture where LLVM knows a CPU
/// of that name there. UserError where it knows none: -mtriple is needed then. Also of a CPU that LLVM does not know by
/// that name: the error says which was meant.
Target parse_target(std::string_view text);

}  // namespace hone
