// An artifact's entries for its thread pool.
#pragma once

#include <string>

#include "compiler/target/target.h"

namespace hone {

/// An object for the CPU `host` with `HoneRuntime* NAME_pool(int32_t threads)` and `void NAME_pool_free(HoneRuntime*)`,
/// to be merged with the pool's own object, whose functions they call (compiler/runtime/pool/pool.h).
std::string emit_pool_entries_object(const std::string& name, const Target& host);

}  // namespace hone
