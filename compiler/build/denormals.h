// What --denormals of tensorc and tuner makes of artifacts.
#pragma once

#include <string>

#include "compiler/ir/denormals.h"
#include "compiler/target/target.h"

namespace hone {

/// `flag`: keep, zero or nothing, which is kUsualDenormals; of a GPU's artifacts they are kept. UserError where zeros
/// are asked of a GPU.
Denormals denormals_for(const std::string& flag, const Target& target);

}  // namespace hone
