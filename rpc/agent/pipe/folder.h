// The contents of a folder that others write to: their size, and removing them.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hone::agent {

/// On the disk, of everything in it, however deep. Links are not followed.
uint64_t folder_bytes(const std::string& path);
/// Removes everything in it. Files that cannot be removed stay; an error if the folder itself cannot be read.
Status empty_folder(const std::string& path);

}  // namespace hone::agent
