#include "compiler/codegen/llvm/kernel/thread_mode.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "base/check.h"
#include "compiler/codegen/llvm/kernel/tile_instructions.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {
namespace {

using llvm::Value;

constexpr uint32_t kFlushAndDenormalsAreZeros = 0x8040;  // of MXCSR
constexpr uint64_t kFlushToZero = uint64_t{1} << 24;     // of FPCR: operands, too

// An entry's frame: HoneRuntime runtime, which its layers are given; const HoneRuntime* given.
constexpr size_t kGiven = sizeof(HoneRuntime), kRuntimeBytes = kGiven + sizeof(void*);
// A region's frame: HoneChunk body; void* closure.
constexpr size_t kClosure = sizeof(void*), kChunkBytes = kClosure + sizeof(void*);

// Functions without arithmetic of their own, so that none of it moves across the changes of the mode.
class ModeEmitter {
 public:
  ModeEmitter(llvm::Function* entry, const Target& target, const ThreadMode& mode)
      : entry_(entry), target_(target), mode_(mode), b_(entry->getContext()), tiles_(b_, mode.tile_code) {
    HONE_ICHECK(target.arch == "x86_64" || target.arch == "aarch64")
        << "threads have no modes that are known on " << target.arch;
  }

  void emit(llvm::Function* inside) {
    begin(entry_);
    Value *given = entry_->getArg(3), *own = memory(kRuntimeBytes);
    llvm::BasicBlock *alone = b_.GetInsertBlock(), *with_runtime = block("with_runtime"), *call = block("call");
    b_.CreateCondBr(b_.CreateIsNull(given), call, with_runtime);
    b_.SetInsertPoint(with_runtime);
    for (const size_t word : {offsetof(HoneRuntime, abi_version), offsetof(HoneRuntime, workers)})
      b_.CreateStore(load(b_.getInt32Ty(), given, word), at(own, word));
    b_.CreateStore(own, at(own, offsetof(HoneRuntime, self)));
    b_.CreateStore(parallel_for(), at(own, offsetof(HoneRuntime, parallel_for)));
    b_.CreateStore(null(), at(own, offsetof(HoneRuntime, gpu)));  // a runtime of version 2 ends before it
    b_.CreateStore(given, at(own, kGiven));
    b_.CreateBr(call);
    b_.SetInsertPoint(call);
    llvm::PHINode* runtime = b_.CreatePHI(b_.getPtrTy(), 2);
    runtime->addIncoming(null(), alone);
    runtime->addIncoming(own, with_runtime);
    call_in_mode(inside->getFunctionType(), inside, {entry_->getArg(0), entry_->getArg(1), entry_->getArg(2), runtime});
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
  llvm::AllocaInst* memory(size_t bytes) {
    llvm::BasicBlock& first = b_.GetInsertBlock()->getParent()->getEntryBlock();
    return llvm::IRBuilder<>(&first, first.begin())
        .CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), (bytes + 7) / 8));
  }

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
        shared("hone.for_in_mode", {pointer, pointer, pointer, b_.getInt64Ty(), b_.getInt32Ty(), b_.getInt64Ty()});
    if (!f->empty()) return f;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin(f);
    Value *chunk = memory(kChunkBytes), *given = pointer_in(f->getArg(0), kGiven);
    b_.CreateStore(f->getArg(1), chunk);
    b_.CreateStore(f->getArg(2), at(chunk, kClosure));
    b_.CreateRet(b_.CreateCall(f->getFunctionType(), pointer_in(given, offsetof(HoneRuntime, parallel_for)),
                               {pointer_in(given, offsetof(HoneRuntime, self)), chunk_in_mode(), chunk, f->getArg(3),
                                f->getArg(4), f->getArg(5)}));
    return f;
  }

  llvm::Function* chunk_in_mode() {
    llvm::Function* f = shared("hone.chunk_in_mode", chunk_type()->params());
    if (!f->empty()) return f;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin(f);
    Value *body = pointer_in(f->getArg(3), 0), *closure = pointer_in(f->getArg(3), kClosure);
    call_in_mode(chunk_type(), body, {f->getArg(0), f->getArg(1), f->getArg(2), closure});
    return f;
  }

  // Calls `callee` in the mode and returns its result.
  void call_in_mode(llvm::FunctionType* type, Value* callee, llvm::ArrayRef<Value*> args) {
    Value* const denormals = mode_.zeroes_denormals ? zero_denormals() : nullptr;
    Value* const tiles = mode_.has_tiles ? configure_tiles() : nullptr;
    Value* code = b_.CreateCall(type, callee, args);
    if (tiles) restore_tiles(tiles);
    if (denormals) restore_denormals(denormals);
    b_.CreateRet(code);
  }

  // Returns what restore_denormals() wants.
  Value* zero_denormals() {
    if (target_.arch == "aarch64") {
      Value* before = b_.CreateIntrinsic(llvm::Intrinsic::aarch64_get_fpcr, {}, {});
      b_.CreateIntrinsic(llvm::Intrinsic::aarch64_set_fpcr, {}, {b_.CreateOr(before, b_.getInt64(kFlushToZero))});
      return before;
    }
    Value *const before = memory(sizeof(uint32_t)), *const now = memory(sizeof(uint32_t));
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {before});
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), before), b_.getInt32(kFlushAndDenormalsAreZeros)), now);
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {now});
    return before;
  }
  void restore_denormals(Value* before) {
    const llvm::Intrinsic::ID set = target_.arch == "aarch64" ? llvm::Intrinsic::ID{llvm::Intrinsic::aarch64_set_fpcr}
                                                              : llvm::Intrinsic::ID{llvm::Intrinsic::x86_sse_ldmxcsr};
    b_.CreateIntrinsic(set, {}, {before});
  }

  // Full tiles, where the thread has others or none: a chunk of the caller's own thread finds them there. Returns the
  // configuration of before; null where there is nothing to restore.
  Value* configure_tiles() {
    llvm::AllocaInst* const before = memory(kTileConfigBytes);
    before->setAlignment(llvm::Align(kTileConfigBytes));
    llvm::BasicBlock *from = b_.GetInsertBlock(), *ask = block("with_tiles"), *load = block("load_tiles"),
                     *call = block("call");
    b_.CreateCondBr(tiles_.ask_permission(), ask, call);
    b_.SetInsertPoint(ask);
    tiles_.store_config(before);
    llvm::Type* const words = llvm::FixedVectorType::get(b_.getInt64Ty(), kTileConfigBytes / 8);
    Value* const differ =
        b_.CreateOrReduce(b_.CreateXor(b_.CreateLoad(words, before), b_.CreateLoad(words, tiles_.full_tiles())));
    b_.CreateCondBr(b_.CreateIsNull(differ), call, load);
    b_.SetInsertPoint(load);
    tiles_.load_config(tiles_.full_tiles());
    b_.CreateBr(call);
    b_.SetInsertPoint(call);
    llvm::PHINode* changed = b_.CreatePHI(b_.getPtrTy(), 3);
    changed->addIncoming(null(), from);
    changed->addIncoming(null(), ask);
    changed->addIncoming(before, load);
    return changed;
  }

  void restore_tiles(Value* before) {
    llvm::BasicBlock *look = block("restore"), *theirs = block("their_tiles"), *none = block("no_tiles"),
                     *after = block("after");
    b_.CreateCondBr(b_.CreateIsNull(before), after, look);
    b_.SetInsertPoint(look);
    b_.CreateCondBr(b_.CreateIsNull(b_.CreateLoad(b_.getInt8Ty(), before)), none, theirs);  // the palette's number
    b_.SetInsertPoint(theirs);
    tiles_.load_config(before);
    b_.CreateBr(after);
    b_.SetInsertPoint(none);
    tiles_.release();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  llvm::Function* entry_;
  const Target& target_;
  const ThreadMode mode_;
  llvm::IRBuilder<> b_;
  TileInstructions tiles_;
};

}  // namespace

void emit_entry_in_mode(llvm::Function* entry, llvm::Function* inside, const Target& target, const ThreadMode& mode) {
  ModeEmitter(entry, target, mode).emit(inside);
}

}  // namespace hone
