// Gives every workspace buffer its position in the module's workspace.
#pragma once

#include "compiler/ir/module.h"

namespace hone {

/// allocate B at -1   ->   allocate B at OFFSET. Buffers whose lives do not overlap share room; inside a parallel loop
/// a buffer has a slot for each of `workers`. `bytes`: the size of all of them together.
Function plan_storage(const Function& f, int workers, int64_t* bytes);

}  // namespace hone
