// Files that are whole or not there.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/status.h"

namespace hone {

/// Writes a temporary file beside `path`, named after this process's id, and renames it: after a failure the old file
/// is unchanged and no temporary file is left. An error of `write` is returned as it is; other errors are usage errors
/// of one line with the system's reason.
Status write_atomically(const std::string& path, const std::function<Status(std::ostream&)>& write);
Status write_atomically(const std::string& path, const std::string& text);

}  // namespace hone
