// The CPU features that an artifact's machine code needs. Private to codegen/llvm.
#pragma once

#include <string>

#include "compiler/target/target.h"

namespace hone {

/// `avx2,fma`: the target's instruction sets, among those that affect vectors (compiler/api/cpu_features.c checks the
/// same ones). Empty for the baseline CPU.
std::string needed_features(const Target& target);

}  // namespace hone
