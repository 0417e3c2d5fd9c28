// The code generators of LLVM that this compiler uses.
#pragma once

#include <string>

namespace llvm {
class Target;
}

namespace hone {

/// LLVM's code generator for `triple`; null where there is none, and `error` says why. From several threads at once:
/// LLVM itself keeps its code generators in a list without a lock, in which two threads that enter them make a circle,
/// so nothing else may enter or look them up.
const llvm::Target* find_llvm_target(const std::string& triple, std::string& error);

}  // namespace hone
