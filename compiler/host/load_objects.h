// Objects loaded into this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/runtime/artifact.h"

namespace hone {

/// Links objects for this machine and loads them; `name` is an entry that they have. Leaves no file behind. UserError
/// where no file can be made or loaded. `linked`: where it is not null, it gets the shared object's bytes, of up to
/// `most_bytes`; nothing of a larger one.
Artifact load_objects(const std::vector<std::string>& objects, const std::string& name = "kernel",
                      std::string* linked = nullptr, size_t most_bytes = 0);

/// Loads a shared object, given as bytes, from a file of its own, in whose pages nothing else of this process is.
Artifact load_bytes(std::string_view shared_object, const std::string& name);

}  // namespace hone
