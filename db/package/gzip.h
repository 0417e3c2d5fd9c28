// Files in gzip's format: what a package's records travel as.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hone::db {

/// Packs a file into another; the same bytes for the same bytes. Errors of reading and writing.
Status gzip_file(const std::string& from, const std::string& to);

/// Unpacks a file into a new one, which must have `bytes` bytes: a larger one ends at the first byte too many, so that
/// a small file cannot fill a disk. InvalidArgument, one line, for what is no gzip, is cut off, or has bytes behind it.
Status gunzip_file(const std::string& from, const std::string& to, int64_t bytes);

}  // namespace hone::db
