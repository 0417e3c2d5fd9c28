// The CPU features that an artifact's machine code needs. Private to codegen/llvm.
#pragma once

#include <string>

#include "compiler/target/target.h"

namespace hone {

/// `avx2,fma`: of the instruction sets that vectors are made of (compiler/api/cpu_features.c knows the same) those that
/// the target has. Empty for a least CPU.
std::string needed_features(const Target& target);

}  // namespace hone
