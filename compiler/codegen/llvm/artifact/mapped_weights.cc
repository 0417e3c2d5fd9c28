#include "compiler/codegen/llvm/artifact/mapped_weights.h"

#include "compiler/codegen/llvm/artifact/forwarder.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/runtime/weights/weights_file.h"

namespace hone {

llvm::GlobalVariable* mapped_weights(llvm::Module& module, const std::string& name) {
  if (auto* variable = module.getGlobalVariable(name + ".mapped", /*AllowInternal=*/true)) return variable;
  llvm::Type* const pointer = llvm::PointerType::getUnqual(module.getContext());
  return new llvm::GlobalVariable(module, pointer, false, llvm::GlobalValue::InternalLinkage,
                                  llvm::Constant::getNullValue(pointer), name + ".mapped");
}

llvm::Value* weights_or_return(llvm::IRBuilder<>& b, const std::string& name) {
  llvm::Function* const f = b.GetInsertBlock()->getParent();
  llvm::LoadInst* mapped = b.CreateLoad(b.getPtrTy(), mapped_weights(*f->getParent(), name));
  mapped->setAtomic(llvm::AtomicOrdering::Acquire);
  mapped->setAlignment(llvm::Align(8));
  auto* there = llvm::BasicBlock::Create(b.getContext(), "there", f);
  auto* missing = llvm::BasicBlock::Create(b.getContext(), "missing", f);
  b.CreateCondBr(b.CreateIsNull(mapped), missing, there);
  llvm::IRBuilder<>(missing).CreateRet(b.getInt32(HONE_BAD_ARGUMENTS | HONE_NO_WEIGHTS << 8));
  b.SetInsertPoint(there);
  return mapped;
}

// int32_t NAME_weights(const char* path)
void emit_weights_entry(llvm::Module& module, const std::string& name, const ModelProgram::WeightsFile& file,
                        const Target& target) {
  CData data(module);
  llvm::IRBuilder<> b(module.getContext());
  const auto text = [&](const std::string& bytes, bool ends_with_zero) {
    return llvm::ConstantDataArray::getString(module.getContext(), bytes, ends_with_zero);
  };
  data.exported(text(file.name, true), name + "_weights_file");
  llvm::Type *const pointer = b.getPtrTy(), *const word = b.getInt32Ty();
  const llvm::FunctionCallee map = hidden_function(module, "hone_internal_map_weights",
                                                   llvm::FunctionType::get(word, {pointer, pointer, pointer}, false));
  auto* f = llvm::Function::Create(llvm::FunctionType::get(word, {pointer}, false), llvm::Function::ExternalLinkage,
                                   name + "_weights", module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr("target-cpu", target.mcpu);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", f));
  b.CreateRet(b.CreateCall(map, {f->getArg(0), data.stored(text(file.begin.substr(0, sizeof(HoneWeightsFile)), false)),
                                 mapped_weights(module, name)}));
}

}  // namespace hone
