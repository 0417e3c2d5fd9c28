// Logging: spdlog behind one header. Lines go to stderr; levels: debug, info, warn, error.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace hone {

/// Sends log lines of this process to stderr as `[time] level program: text`; the level comes from `level` or, when
/// that is empty, from $HONE_LOG (debug, info, warn, error, off; default warn).
void init_log(const std::string& program, const std::string& level = "");

/// The same for a library, once: a process that has a logger of its own with spdlog keeps it.
void init_library_log(const std::string& library);

namespace log {
using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;
}  // namespace log

}  // namespace hone
