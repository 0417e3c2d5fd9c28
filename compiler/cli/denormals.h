// --denormals of tensorc and tuner.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/ir/denormals.h"
#include "compiler/target/target.h"

namespace hone {

/// What the flag's value, keep, zero or nothing, makes of artifacts for `target`; of a GPU they are kept. A usage error
/// where zeros are asked of a GPU.
StatusOr<Denormals> denormals_for(const std::string& flag, const Target& target);

}  // namespace hone
