// Whether a file can be made, checked before the work on its contents.
#pragma once

#include <string>

#include "base/status.h"

namespace hone {

/// A usage error of one line where write_atomically() or a FileSet could make no file at `path` now: its folder is not
/// there or nothing may be made in it, or `path` is a folder. A path that is no file (a pipe, /dev/null) is written to
/// in its place.
Status check_writable(const std::string& path);

}  // namespace hone
