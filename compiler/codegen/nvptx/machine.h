// LLVM's code generator for PTX. Private to codegen/nvptx.
#pragma once

#include <memory>
#include <string>

#include "compiler/target/target.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace hone {

/// UserError for a target that is not cuda, that names no architecture, or one older than all that LLVM knows.
std::unique_ptr<llvm::TargetMachine> make_ptx_machine(const Target& target);

/// The compute capability that PTX of the target is for: 80 for sm_80. From 80 on it has max.NaN.f32 and min.NaN.f32.
int ptx_capability(const Target& target);

/// The text of an optimised module, which is of no use afterwards.
std::string generate_ptx(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace hone
