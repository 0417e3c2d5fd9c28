// Random small programs in loop form: every kind of loop, guards, selects, strides, gathers, stack and workspace
// buffers.
#pragma once

#include <cstdint>

#include "compiler/ir/module.h"

namespace hone {

/// The same seed gives the same program. All accesses that are performed are in bounds.
Module random_program(uint64_t seed);

}  // namespace hone
