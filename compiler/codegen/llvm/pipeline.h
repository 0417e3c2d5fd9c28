// From LLVM IR to objects and assembly: the passes and the target machine. Private to codegen/llvm.
#pragma once

#include <llvm/Support/CodeGen.h>

#include <memory>
#include <string>

#include "compiler/target/target.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace hone {

/// UserError for a target whose kind is not llvm, that is incomplete or that LLVM does not know.
std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target);

/// Makes `module` one of the machine's and runs the passes over IR.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

/// The file of an optimised module, which is of no use afterwards.
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type);

}  // namespace hone
