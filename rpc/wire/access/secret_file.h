// Files that hold secrets: tokens and private keys.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace hone::wire {

/// The text of a small regular file (at most 1 MiB). InvalidArgument, one line that names the file and never quotes it,
/// when it cannot be read.
StatusOr<std::string> read_small_file(const std::string& path);

/// As read_small_file(); also InvalidArgument when anyone but its owner and group may read it, or anyone but its owner
/// may write it.
StatusOr<std::string> read_secret_file(const std::string& path);

/// A token is 16 to 256 printable ASCII characters without a space.
Status check_token(std::string_view token);

}  // namespace hone::wire
