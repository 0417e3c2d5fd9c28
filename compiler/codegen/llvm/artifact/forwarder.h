// Entries without code of their own. Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

#include "compiler/target/target.h"

namespace hone {

/// A function of another object of the artifact, hidden.
llvm::FunctionCallee hidden_function(llvm::Module& module, const std::string& name, llvm::FunctionType* type);

/// A function `name` of `type`, which may be declared already, that returns what `callee` (hidden_function()) returns
/// for `first`, unless that is null, and its own arguments.
llvm::Function* emit_forwarder(llvm::Module& module, const std::string& name, llvm::FunctionType* type,
                               const std::string& callee, llvm::Constant* first, const Target& host);

}  // namespace hone
