// Files that are whole or not there.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/status.h"

namespace hone {

/// Writes `path` beside itself, under a name with this process's id, and renames it: what fails leaves the old file as
/// it was and nothing behind. An error of `write` is returned as it is; else the error is a usage error of one line
/// with the system's reason.
Status write_atomically(const std::string& path, const std::function<Status(std::ostream&)>& write);
Status write_atomically(const std::string& path, const std::string& text);

}  // namespace hone
