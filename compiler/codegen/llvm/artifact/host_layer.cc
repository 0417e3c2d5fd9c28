#include "compiler/codegen/llvm/artifact/host_layer.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include "base/check.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"

namespace hone {

std::string emit_host_layer_object(const std::string& name, const std::vector<int64_t>& numbers, size_t tensors,
                                   const std::string& symbol, const Target& target) {
  const auto machine = make_machine(target);
  llvm::LLVMContext context;
  llvm::Module module(symbol, context);
  llvm::IRBuilder<> b(context);
  CData data(module);
  llvm::Type *const pointer = b.getPtrTy(), *const word = b.getInt32Ty();
  llvm::FunctionCallee called = module.getOrInsertFunction(
      "hone_internal_" + name, llvm::FunctionType::get(word, {pointer, pointer, pointer}, false));
  llvm::cast<llvm::Function>(called.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(word, std::vector<llvm::Type*>(tensors + 2, pointer), false),
                                   llvm::Function::ExternalLinkage, symbol, module);
  f->setVisibility(llvm::GlobalValue::HiddenVisibility);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr("target-cpu", target.mcpu);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
  auto* list_type = llvm::ArrayType::get(pointer, tensors);
  llvm::Value* list = b.CreateAlloca(list_type);
  for (unsigned t = 0; t < tensors; ++t) b.CreateStore(f->getArg(t), b.CreateConstGEP2_32(list_type, list, 0, t));
  std::vector<llvm::Constant*> sizes;
  for (const int64_t n : numbers) sizes.push_back(data.number(n));
  llvm::Value* workspace = f->getArg(static_cast<unsigned>(tensors));
  b.CreateRet(b.CreateCall(called, {data.array(sizes), list, workspace}));
  HONE_ICHECK(!llvm::verifyModule(module)) << "emitted invalid LLVM IR for " << name;
  Optimizer(*machine).run(module);
  return generate(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace hone
