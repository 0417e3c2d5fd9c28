// Weights of a model in a file of their own, in the code of its artifact: where they are mapped, and NAME_weights.
// Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

#include "compiler/codegen/artifact/model_program.h"
#include "compiler/target/target.h"

namespace hone {

/// The variable of `module` that says where the weights of the model `name` are mapped; null until they are.
llvm::GlobalVariable* mapped_weights(llvm::Module& module, const std::string& name);

/// The variable's value. If it is null, the current function, an entry, returns HONE_NO_WEIGHTS before this point.
llvm::Value* weights_or_return(llvm::IRBuilder<>& b, const std::string& name);

/// NAME_weights and NAME_weights_file, exported; uses hone_internal_map_weights of another object.
void emit_weights_entry(llvm::Module& module, const std::string& name, const ModelProgram::WeightsFile& file,
                        const Target& target);

}  // namespace hone
