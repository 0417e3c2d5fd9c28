// Entries of artifacts to which denormal numbers are zeros. Private to codegen/llvm.
#pragma once

#include <llvm/IR/Function.h>

#include "compiler/target/target.h"

namespace hone {

/// Gives `entry`, a HoneEntry that has no code yet, its code: it calls `inside`, another one, with its arguments and
/// returns its result. Meanwhile denormals are zeros on the calling thread, and on every thread of the runtime while it
/// runs a chunk; then each has all of its own mode again. runtime/denormals does the same in C.
void emit_zeroing_entry(llvm::Function* entry, llvm::Function* inside, const Target& target);

}  // namespace hone
