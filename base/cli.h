// Command lines of the programs: CLI11 with the house's error lines. CLI11 takes seconds to compile: who only names
// exit codes includes base/exit_code.h.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/exit_code.h"

namespace hone {

/// Parses `argv` with `app` (adding --config FILE, or --config-file FILE where --config means something else), runs
/// `body` and turns what comes back into an exit code. Errors, UserError among them, become one line `PROGRAM: what` on
/// stderr. A flag given twice with different values is bad usage. For an internal error the line says how to report it.
/// With subcommands, `body` looks at what was parsed.
int run_cli(CLI::App& app, int argc, const char* const* argv, const std::function<Status()>& body);

}  // namespace hone
