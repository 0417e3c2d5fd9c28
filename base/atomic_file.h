// A file that is whole or not there; several at once are a FileSet (file_set.h).
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hone {

/// A FileSet of one: after a failure the old file is unchanged and no temporary file is left; leftovers of killed
/// processes are removed. A pipe or device (/dev/null) at the path is written to. An error of `write` is returned as it
/// is; other errors are usage errors of one line with the system's reason.
Status write_atomically(const std::string& path, const std::function<Status(std::ostream&)>& write);
Status write_atomically(const std::string& path, const std::string& text);
/// The parts one after the other.
Status write_atomically(const std::string& path, std::initializer_list<std::string_view> parts);

}  // namespace hone
