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

/// The passes over IR, set up once for any number of modules.
class Optimizer {
 public:
  /// `machine` must outlive it.
  explicit Optimizer(llvm::TargetMachine& machine);
  ~Optimizer();
  /// Makes `module` one of the machine's and optimises it.
  void run(llvm::Module& module);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The file of an optimised module, which is of no use afterwards.
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type);

}  // namespace hone
