// Statements of legalized loop form as LLVM IR, for CPUs and GPUs alike. Private to codegen.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <unordered_map>

#include "compiler/codegen/llvm/kernel/emit_expr.h"
#include "compiler/ir/queries.h"

namespace hone {

/// Writes the body of one LLVM function. Derived classes define how concurrent loops run and where buffers outside of
/// the frame lie.
class StmtEmitter {
 public:
  /// Writes into `f`, which is empty: code that dominates everything goes into its entry block, the rest behind.
  /// `fault`, a block of `f` that leaves it, may be null when no access is checked. With `keeps_facts`, facts from
  /// ranges and conditions are kept for ExprOptions::facts.
  StmtEmitter(llvm::Function* f, llvm::BasicBlock* fault, ExprOptions options, bool keeps_facts = false);
  virtual ~StmtEmitter() = default;
  StmtEmitter(const StmtEmitter&) = delete;
  StmtEmitter& operator=(const StmtEmitter&) = delete;

  /// Facts about a loop's end. An end that is not known to lie inside int64 may wrap around: the loop then counts to
  /// it, past the largest number.
  enum class LoopEnd : uint8_t { kInside, kMayWrap };
  static LoopEnd end_of(const For* op);

  void emit(const Stmt& s);
  virtual void bind(const BufferNode* buffer, BufferSlot slot) { expr_.bind(buffer, slot); }

 protected:
  /// A loop whose iterations may run at the same time; by default they run in turn.
  virtual void emit_concurrent(const For* op) { emit_serial(op); }
  /// A warp loop: by default as a serial one, which it means.
  virtual void emit_warp_loop(const For* op) { emit_serial(op); }
  virtual void emit_serial(const For* op);
  /// Statements that follow each other. Stores that stand together are emitted together.
  virtual void emit_all(const Seq* op);
  virtual void emit_store(const Store* op) { expr_.emit_store(op); }
  virtual void emit_barrier();
  virtual void emit_prefetch(const Prefetch* op) { expr_.emit_prefetch(op); }
  /// The address of a buffer that `op` allocates outside of the frame.
  virtual BufferSlot position(const Allocate* op) = 0;

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_, name, f_); }
  /// for (var = lo; var < hi; ++var) body
  /// Tested at the bottom, which LLVM's loop passes expect; where the end may wrap, until var == hi. `enters` (i1):
  /// whether it runs at all; null: at least once.
  void emit_loop(const VarNode* var, llvm::Value* lo, llvm::Value* hi, llvm::Value* enters, LoopEnd end,
                 const Stmt& body);
  /// One way of `branch`, from `from` to `to`: what `body` emits.
  void emit_case(llvm::Instruction* branch, llvm::BasicBlock* from, llvm::BasicBlock* to,
                 llvm::function_ref<void()> body);
  /// Goes on from the entry block to the body.
  void close_entry();

  llvm::LLVMContext& context_;
  llvm::Function* f_;
  llvm::BasicBlock *entry_, *body_;
  llvm::IRBuilder<> b_;
  Facts facts_;
  ExprEmitter expr_;

 private:
  void emit_if(const If* op);
  void emit_allocate(const Allocate* op);
  llvm::MDNode* as_scheduled();

  const bool keeps_facts_;
  std::unordered_map<const BufferNode*, llvm::Value*> frame_;
};

}  // namespace hone
