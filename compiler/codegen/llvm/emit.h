// Modules as LLVM IR. Private to codegen/llvm.
#pragma once

#include <memory>

#include "compiler/codegen/llvm/compile.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace hone {

/// The unoptimised LLVM module with the entries of `m`; CPU and features are attributes of its functions.
std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Module& m, const Target& target, const CodegenOptions& options);

}  // namespace hone
