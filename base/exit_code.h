// How all programs end: exit codes, the statuses that stand for them, and the mapping from Status to exit
// code.
#pragma once

#include <string>

#include "base/status.h"

namespace hone {

/// The exit codes of every program.
enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 2,
  kExitNoDevice = 3,
  kExitAllFailed = 4,
  kExitDatabase = 5,
  kExitDiffers = 6,
  kExitInternal = 70,
  kExitInterrupted = 130,
};

/// Statuses that mean one of the exit codes. Each carries one line of text for stderr.
Status usage_error(const std::string& line);        ///< bad usage or input -> 2
Status no_device_error(const std::string& line);    ///< no device serves the target -> 3
Status all_failed_error(const std::string& line);   ///< every candidate failed -> 4
Status database_error(const std::string& line);     ///< database unreadable or unwritable -> 5
Status differs_error(const std::string& line);      ///< an expected output that was given differs -> 6
Status interrupted_error(const std::string& line);  ///< Ctrl-C; measurements are kept -> 130

/// How a command ended.
struct CommandEnd {
  int code = kExitDone;
  std::string text;  ///< why it failed, a line for each reason; after --help its text; else empty
};

/// For a program: help goes to stdout, each line of an error as `PROGRAM: what` to stderr. Returns the code.
int print_end(const std::string& program, const CommandEnd& end);

/// kExitDone for OK; a status made above gives its code; kInvalidArgument, kNotFound and kOutOfRange give 2; anything
/// else 70.
int exit_code_of(const Status& status);

}  // namespace hone
