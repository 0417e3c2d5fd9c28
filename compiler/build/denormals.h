// The treatment of denormals in artifacts for a target.
#pragma once

#include <optional>

#include "compiler/ir/denormals.h"
#include "compiler/target/target.h"

namespace hone {

/// `asked`: nothing is kUsualDenormals; a GPU's artifacts keep them. UserError where zeros are asked of a GPU.
Denormals denormals_for(std::optional<Denormals> asked, const Target& target);

}  // namespace hone
