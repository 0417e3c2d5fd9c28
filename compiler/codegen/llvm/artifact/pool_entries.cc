#include "compiler/codegen/llvm/artifact/pool_entries.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/llvm/artifact/forwarder.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"

namespace hone {
std::string emit_pool_entries_object(const std::string& name, const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  llvm::Module module(name + "_pool", context);
  llvm::Type *const pointer = llvm::PointerType::getUnqual(context), *const word = llvm::Type::getInt32Ty(context);
  emit_forwarder(module, name + "_pool", llvm::FunctionType::get(pointer, {word}, false), "hone_internal_pool_new",
                 nullptr, host);
  emit_forwarder(module, name + "_pool_free", llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
                 "hone_internal_pool_free", nullptr, host);
  Optimizer(*machine).run(module);
  return generate(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace hone
