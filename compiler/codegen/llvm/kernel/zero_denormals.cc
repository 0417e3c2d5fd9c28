#include "compiler/codegen/llvm/kernel/zero_denormals.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "base/check.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {
namespace {

using llvm::Value;

constexpr uint32_t kFlushAndDenormalsAreZeros = 0x8040;  // of MXCSR
constexpr uint64_t kFlushToZero = uint64_t{1} << 24;     // of FPCR: operands, too

// An entry's frame: HoneRuntime runtime, which its layers are given; const HoneRuntime* given.
constexpr size_t kGiven = sizeof(HoneRuntime), kZeroingBytes = kGiven + sizeof(void*);
// A region's frame: HoneChunk body; void* closure.
constexpr size_t kClosure = sizeof(void*), kChunkBytes = kClosure + sizeof(void*);

// Functions without arithmetic of their own, so that none of it moves across the changes of the mode.
class ZeroingEmitter {
 public:
  ZeroingEmitter(llvm::Function* entry, const Target& target)
      : entry_(entry), target_(target), b_(entry->getContext()) {
    HONE_ICHECK(target.arch == "x86_64" || target.arch == "aarch64") << "no mode of denormals of " << target.arch;
  }

  void emit(llvm::Function* inside) {
    begin(entry_);
    Value *given = entry_->getArg(3), *zeroing = memory(kZeroingBytes);
    llvm::BasicBlock *alone = b_.GetInsertBlock(), *with_runtime = block("with_runtime"), *call = block("call");
    b_.CreateCondBr(b_.CreateIsNull(given), call, with_runtime);
    b_.SetInsertPoint(with_runtime);
    for (const size_t word : {offsetof(HoneRuntime, abi_version), offsetof(HoneRuntime, workers)})
      b_.CreateStore(load(b_.getInt32Ty(), given, word), at(zeroing, word));
    b_.CreateStore(zeroing, at(zeroing, offsetof(HoneRuntime, self)));
    b_.CreateStore(parallel_for(), at(zeroing, offsetof(HoneRuntime, parallel_for)));
    b_.CreateStore(null(), at(zeroing, offsetof(HoneRuntime, gpu)));  // a runtime of version 2 ends before it
    b_.CreateStore(given, at(zeroing, kGiven));
    b_.CreateBr(call);
    b_.SetInsertPoint(call);
    llvm::PHINode* runtime = b_.CreatePHI(b_.getPtrTy(), 2);
    runtime->addIncoming(null(), alone);
    runtime->addIncoming(zeroing, with_runtime);
    call_with_zeros(inside->getFunctionType(), inside,
                    {entry_->getArg(0), entry_->getArg(1), entry_->getArg(2), runtime});
  }

 private:
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(entry_->getContext(), name, b_.GetInsertBlock()->getParent());
  }
  void begin(llvm::Function* f) { b_.SetInsertPoint(llvm::BasicBlock::Create(entry_->getContext(), "entry", f)); }
  Value* null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  Value* at(Value* base, size_t offset) { return b_.CreateGEP(b_.getInt8Ty(), base, b_.getInt64(offset)); }
  Value* load(llvm::Type* type, Value* base, size_t offset) { return b_.CreateLoad(type, at(base, offset)); }
  Value* pointer_in(Value* base, size_t offset) { return load(b_.getPtrTy(), base, offset); }
  Value* memory(size_t bytes) { return b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), (bytes + 7) / 8)); }

  // A function of these arguments that all entries of the module share; without code where it is new.
  llvm::Function* shared(const char* name, llvm::ArrayRef<llvm::Type*> arguments) {
    llvm::Module& module = *entry_->getParent();
    if (llvm::Function* known = module.getFunction(name)) return known;
    auto* f = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), arguments, false),
                                     llvm::Function::InternalLinkage, name, module);
    f->addFnAttrs(llvm::AttrBuilder(entry_->getContext(), entry_->getAttributes().getFnAttrs()));
    return f;
  }

  llvm::FunctionType* chunk_type() {
    return llvm::FunctionType::get(b_.getInt32Ty(), {b_.getInt64Ty(), b_.getInt64Ty(), b_.getInt32Ty(), b_.getPtrTy()},
                                   false);
  }

  // The parallel_for of `runtime`: that of `given`, with chunks that have the mode.
  llvm::Function* parallel_for() {
    llvm::Type* const pointer = b_.getPtrTy();
    llvm::Function* f =
        shared("hone.zeroing_for", {pointer, pointer, pointer, b_.getInt64Ty(), b_.getInt32Ty(), b_.getInt64Ty()});
    if (!f->empty()) return f;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin(f);
    Value *chunk = memory(kChunkBytes), *given = pointer_in(f->getArg(0), kGiven);
    b_.CreateStore(f->getArg(1), chunk);
    b_.CreateStore(f->getArg(2), at(chunk, kClosure));
    b_.CreateRet(b_.CreateCall(f->getFunctionType(), pointer_in(given, offsetof(HoneRuntime, parallel_for)),
                               {pointer_in(given, offsetof(HoneRuntime, self)), zeroing_chunk(), chunk, f->getArg(3),
                                f->getArg(4), f->getArg(5)}));
    return f;
  }

  llvm::Function* zeroing_chunk() {
    llvm::Function* f = shared("hone.zeroing_chunk", chunk_type()->params());
    if (!f->empty()) return f;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin(f);
    Value *body = pointer_in(f->getArg(3), 0), *closure = pointer_in(f->getArg(3), kClosure);
    call_with_zeros(chunk_type(), body, {f->getArg(0), f->getArg(1), f->getArg(2), closure});
    return f;
  }

  // Calls `callee` in the mode and returns its result.
  void call_with_zeros(llvm::FunctionType* type, Value* callee, llvm::ArrayRef<Value*> args) {
    const bool is_x86 = target_.arch == "x86_64";
    Value* const before = is_x86 ? memory(sizeof(uint32_t)) : nullptr;
    Value* mode = nullptr;
    if (is_x86) {
      Value* const now = memory(sizeof(uint32_t));
      b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {before});
      b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), before), b_.getInt32(kFlushAndDenormalsAreZeros)), now);
      b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {now});
    } else {
      mode = b_.CreateIntrinsic(llvm::Intrinsic::aarch64_get_fpcr, {}, {});
      b_.CreateIntrinsic(llvm::Intrinsic::aarch64_set_fpcr, {}, {b_.CreateOr(mode, b_.getInt64(kFlushToZero))});
    }
    Value* code = b_.CreateCall(type, callee, args);
    if (is_x86)
      b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {before});
    else
      b_.CreateIntrinsic(llvm::Intrinsic::aarch64_set_fpcr, {}, {mode});
    b_.CreateRet(code);
  }

  llvm::Function* entry_;
  const Target& target_;
  llvm::IRBuilder<> b_;
};

}  // namespace

void emit_zeroing_entry(llvm::Function* entry, llvm::Function* inside, const Target& target) {
  ZeroingEmitter(entry, target).emit(inside);
}

}  // namespace hone
