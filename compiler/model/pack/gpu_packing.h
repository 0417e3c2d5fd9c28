// Kernels' own layouts on GPUs: launches around the kernel's that pack an input or unpack an output.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// plain_module() for a GPU: `m` itself where nothing has to be packed (constants, `is_packed`, are when the model is
/// built); else with the packing nests bound to blocks and threads, each a launch, and the packed tensors in its
/// workspace.
Module gpu_plain_module(const Module& m, const Target& target, const std::vector<bool>& is_packed);

}  // namespace hone
