#include "compiler/codegen/llvm/artifact/forwarder.h"

#include <llvm/ADT/SmallVector.h>

#include "base/check.h"

namespace hone {

llvm::FunctionCallee hidden_function(llvm::Module& module, const std::string& name, llvm::FunctionType* type) {
  llvm::FunctionCallee f = module.getOrInsertFunction(name, type);
  llvm::cast<llvm::Function>(f.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return f;
}

llvm::Function* emit_forwarder(llvm::Module& module, const std::string& name, llvm::FunctionType* type,
                               const std::string& callee, llvm::Constant* first, const Target& host) {
  auto* f = llvm::cast<llvm::Function>(module.getOrInsertFunction(name, type).getCallee());
  HONE_ICHECK(f->empty()) << name << " is there already";
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr("target-cpu", host.mcpu);
  llvm::SmallVector<llvm::Type*> types;
  llvm::SmallVector<llvm::Value*> args;
  const auto pass = [&](llvm::Value* v) {
    types.push_back(v->getType());
    args.push_back(v);
  };
  if (first) pass(first);
  for (llvm::Argument& a : f->args()) pass(&a);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", f));
  llvm::CallInst* call =
      b.CreateCall(hidden_function(module, callee, llvm::FunctionType::get(type->getReturnType(), types, false)), args);
  call->setTailCall();
  if (type->getReturnType()->isVoidTy())
    b.CreateRetVoid();
  else
    b.CreateRet(call);
  return f;
}

}  // namespace hone
