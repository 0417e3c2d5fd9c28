// Objects loaded into this process.
#pragma once

#include <string>
#include <vector>

#include "compiler/runtime/artifact.h"

namespace hone {

/// Links objects for this machine and loads them; `name` is an entry that they have. Leaves no file behind. UserError
/// where no file can be made or loaded.
Artifact load_objects(const std::vector<std::string>& objects, const std::string& name = "kernel");

}  // namespace hone
