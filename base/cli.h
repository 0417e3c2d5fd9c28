// Runs a program by its command line: the house's error lines and exit codes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/exit_code.h"

namespace hone {

/// The flag of every program whose file has flags. It has older names, which help leaves out.
inline constexpr char kFlagsFile[] = "--flags-file";

/// Parses `argv` as `line` says, adding --flags-file FILE (older names, which still work: --config, and --config-file
/// where
/// --config means something else), runs `body` and turns what comes back, UserError too, into an exit code and text. A
/// flag given twice with different values is bad usage; of an unknown one that is near a known one the error says so.
/// For an internal error the text says how to report it. With commands, `body` asks `line` for the given one. Lines of
/// errors are cut after 1,000 bytes, and there are 200 at most.
CommandEnd run_command(CommandLine& line, int argc, const char* const* argv, const std::function<Status()>& body);

/// The same of `words`, without a program's name. Options may have results before (Flag::add_result).
CommandEnd run_command(CommandLine& line, const std::vector<std::string>& words, const std::function<Status()>& body);

/// The same for a program: what print_end() gives. One that wants words (help.h) and has got none says how it is
/// called. Output to std::cout and std::cerr meanwhile is cleaned (base/clean_stream.h).
int run_cli(CommandLine& line, int argc, const char* const* argv, const std::function<Status()>& body);

/// For a body: the file of flags that was given; empty: none.
std::string flags_file(const CommandLine& line);

}  // namespace hone
