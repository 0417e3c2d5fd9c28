#include "compiler/codegen/llvm/artifact/pool_entries.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/llvm/kernel/pipeline.h"

namespace hone {
namespace {

// `name`, which calls the hidden function `callee` of the same type.
void emit_forwarder(llvm::Module& module, llvm::FunctionType* type, const std::string& name, const char* callee) {
  auto* to = llvm::Function::Create(type, llvm::Function::ExternalLinkage, callee, module);
  to->setVisibility(llvm::GlobalValue::HiddenVisibility);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", f));
  llvm::CallInst* call = b.CreateCall(to, {f->getArg(0)});
  call->setTailCall();
  if (type->getReturnType()->isVoidTy())
    b.CreateRetVoid();
  else
    b.CreateRet(call);
}

}  // namespace

std::string emit_pool_entries_object(const std::string& name, const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  llvm::Module module(name + "_pool", context);
  llvm::Type *const pointer = llvm::PointerType::getUnqual(context), *const word = llvm::Type::getInt32Ty(context);
  emit_forwarder(module, llvm::FunctionType::get(pointer, {word}, false), name + "_pool", "hone_internal_pool_new");
  emit_forwarder(module, llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false), name + "_pool_free",
                 "hone_internal_pool_free");
  Optimizer(*machine).run(module);
  return generate(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace hone
