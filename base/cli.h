// Command lines of the programs: CLI11 with the house's error lines. CLI11 takes seconds to compile: who only names
// exit codes includes base/exit_code.h.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/exit_code.h"

namespace hone {

/// The flag of every program whose file has flags. It has older names, which help leaves out.
inline constexpr char kFlagsFile[] = "--flags-file";

/// Parses `argv` with `app`, adding --flags-file FILE (older names, which still work: --config, and --config-file where
/// --config means something else), runs `body` and turns what comes back, UserError too, into an exit code and text. A
/// flag given twice with different values is bad usage; of an unknown one that is near a known one the error says so.
/// For an internal error the text says how to report it. With subcommands, `body` looks at the parsed one. Lines of
/// errors are cut after 1,000 bytes, and there are 200 at most.
CommandEnd run_command(CLI::App& app, int argc, const char* const* argv, const std::function<Status()>& body);

/// The same of `words`, without a program's name. Options may have results before (CLI::Option::add_result).
CommandEnd run_command(CLI::App& app, const std::vector<std::string>& words, const std::function<Status()>& body);

/// The same for a program: what print_end() gives. One that wants words (help.h) and has got none says how it is
/// called. Output to std::cout and std::cerr meanwhile is cleaned (base/clean_stream.h).
int run_cli(CLI::App& app, int argc, const char* const* argv, const std::function<Status()>& body);

/// Checks that a flag is a number in `least` .. `most`. Else `--threads: 'x' is not a whole number from 1 to 1024`.
CLI::Validator number_from(int64_t least, int64_t most);
CLI::Validator number_from(double least, double most);
inline CLI::Validator number_from(int least, int most) { return number_from(int64_t{least}, int64_t{most}); }

/// For a body: the file of flags that was given; empty: none.
std::string flags_file(const CLI::App& app);

}  // namespace hone
