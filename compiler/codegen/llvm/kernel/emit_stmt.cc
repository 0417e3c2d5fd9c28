#include "compiler/codegen/llvm/kernel/emit_stmt.h"

namespace hone {

using llvm::Value;

namespace {

ExprOptions with_facts(ExprOptions options, const Facts* facts) {
  options.facts = facts;
  return options;
}

}  // namespace

StmtEmitter::StmtEmitter(llvm::Function* f, llvm::BasicBlock* fault, ExprOptions options, bool keeps_facts)
    : context_(f->getContext()),
      f_(f),
      entry_(llvm::BasicBlock::Create(context_, "entry", f, fault)),
      body_(llvm::BasicBlock::Create(context_, "body", f)),
      b_(body_),
      expr_(b_, fault, with_facts(options, keeps_facts ? &facts_ : nullptr)),
      keeps_facts_(keeps_facts) {
  llvm::FastMathFlags contract;
  contract.setAllowContract(true);
  b_.setFastMathFlags(contract);
}

void StmtEmitter::close_entry() { llvm::IRBuilder<>(entry_).CreateBr(body_); }

void StmtEmitter::emit(const Stmt& s) {
  switch (s->kind) {
    case StmtKind::kSeq: return emit_all(as<Seq>(s));
    case StmtKind::kStore: return emit_store(as<Store>(s));
    case StmtKind::kPrefetch: return emit_prefetch(as<Prefetch>(s));
    case StmtKind::kBarrier: return emit_barrier();
    case StmtKind::kIf: return emit_if(as<If>(s));
    case StmtKind::kFor: {
      const For* loop = as<For>(s);
      return is_concurrent(loop->loop)       ? emit_concurrent(loop)
             : loop->loop == LoopKind::kWarp ? emit_warp_loop(loop)
                                             : emit_serial(loop);
    }
    case StmtKind::kAllocate: return emit_allocate(as<Allocate>(s));
  }
}

void StmtEmitter::emit_all(const Seq* op) {
  for (std::span<const Stmt> rest = op->stmts; !rest.empty();) {
    const size_t parts = expr_.stores_of_words(rest), n = parts ? parts : expr_.stores_together(rest);
    parts   ? expr_.emit_stores_of_words(rest.first(n))
    : n > 1 ? expr_.emit_stores_together(rest.first(n))
            : emit(rest.front());
    rest = rest.subspan(std::max<size_t>(n, 1));
  }
}

void StmtEmitter::emit_barrier() { HONE_ICHECK(false) << "a barrier reached a code generator that has none"; }

void StmtEmitter::emit_if(const If* op) {
  llvm::BasicBlock *then = block("then"), *after = block("after"), *otherwise = op->else_case ? block("else") : after;
  llvm::Instruction* branch = b_.CreateCondBr(expr_.emit(op->condition), then, otherwise);
  const int n = keeps_facts_ ? facts_.push_condition(op->condition) : 0;
  emit_case(branch, then, after, [&] { emit(op->then_case); });
  facts_.pop_facts(n);
  if (op->else_case) {
    const int m = keeps_facts_ ? facts_.push_negation(op->condition) : 0;
    emit_case(branch, otherwise, after, [&] { emit(op->else_case); });
    facts_.pop_facts(m);
  }
  b_.SetInsertPoint(after);
}

void StmtEmitter::emit_case(llvm::Instruction* branch, llvm::BasicBlock* from, llvm::BasicBlock* to,
                            llvm::function_ref<void()> body) {
  expr_.arithmetic().push(branch);
  b_.SetInsertPoint(from);
  body();
  b_.CreateBr(to);
  expr_.arithmetic().pop();
}

void StmtEmitter::emit_serial(const For* op) {
  HONE_ICHECK(op->loop != LoopKind::kUnroll && op->loop != LoopKind::kVectorize)
      << name_of(op->loop) << " loop " << op->var->name << " was not legalized";
  Value* lo = expr_.emit(op->min);
  Value* count = expr_.emit(op->extent);
  Value* hi = b_.CreateAdd(lo, count);
  const auto extent = as_const_int(op->extent);
  const LoopEnd end = end_of(op);
  Value* enters = extent && *extent > 0     ? nullptr
                  : end == LoopEnd::kInside ? b_.CreateICmpSLT(lo, hi)
                                            : b_.CreateICmpSLT(llvm::ConstantInt::get(lo->getType(), 0), count);
  if (keeps_facts_) facts_.push_loop(op->var.get(), op->min, op->extent);
  emit_loop(op->var.get(), lo, hi, enters, end, op->body);
  if (keeps_facts_) facts_.pop_range();
}

StmtEmitter::LoopEnd StmtEmitter::end_of(const For* op) {
  const auto first = as_const_int(op->min), extent = as_const_int(op->extent);
  int64_t end;
  return first && extent && !__builtin_add_overflow(*first, *extent, &end) ? LoopEnd::kInside : LoopEnd::kMayWrap;
}

void StmtEmitter::emit_loop(const VarNode* var, Value* lo, Value* hi, Value* enters, LoopEnd end, const Stmt& body) {
  llvm::BasicBlock *head = block("loop"), *after = block("after"), *before = b_.GetInsertBlock();
  llvm::Instruction* branch = enters ? b_.CreateCondBr(enters, head, after) : b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(lo->getType(), 2, var->name);
  i->addIncoming(lo, before);
  expr_.arithmetic().push_loop(branch, i, lo);
  expr_.bind(var, i);
  emit(body);
  expr_.arithmetic().pop_loop();
  Value* next = b_.CreateAdd(i, llvm::ConstantInt::get(lo->getType(), 1), "", false, end == LoopEnd::kInside);
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* back =
      b_.CreateCondBr(end == LoopEnd::kInside ? b_.CreateICmpSLT(next, hi) : b_.CreateICmpNE(next, hi), head, after);
  if (!expr_.options().simt) back->setMetadata(llvm::LLVMContext::MD_loop, as_scheduled());
  b_.SetInsertPoint(after);
}

// The schedule has decided: LLVM neither unrolls nor vectorizes. On a GPU the driver decides about serial loops, as it
// does for CUDA text.
llvm::MDNode* StmtEmitter::as_scheduled() {
  const auto flag = [this](const char* text) {
    return llvm::MDNode::get(context_, llvm::MDString::get(context_, text));
  };
  auto* node = llvm::MDNode::getDistinct(
      context_, {nullptr, flag("llvm.loop.unroll.disable"), flag("llvm.loop.vectorize.disable")});
  node->replaceOperandWith(0, node);
  return node;
}

void StmtEmitter::emit_allocate(const Allocate* op) {
  const BufferNode* buffer = op->buffer.get();
  BufferSlot slot;
  if (buffer->scope == BufferScope::kStack || buffer->scope == BufferScope::kShared) {
    slot.elements = elements_of(buffer);
    slot.on_stack = true;
    Value*& frame = frame_[buffer];
    if (!frame) {
      llvm::IRBuilder<> at_entry(entry_, entry_->begin());
      auto* type = llvm::ArrayType::get(llvm_type(b_, buffer->dtype.is_bool() ? u8 : buffer->dtype),
                                        static_cast<uint64_t>(slot.elements));
      auto* alloca = at_entry.CreateAlloca(type, nullptr, buffer->name);
      alloca->setAlignment(llvm::Align(static_cast<uint64_t>(expr_.options().base_alignment)));
      frame = alloca;
      expr_.arithmetic().define_everywhere(frame);
    }
    slot.base = frame;
    // The buffer's contents are undefined here: values of an earlier iteration need not be carried around the
    // loop in registers.
    b_.CreateLifetimeStart(frame, b_.getInt64(static_cast<uint64_t>(slot.elements * buffer->dtype.lane_bytes())));
  } else {
    slot = position(op);
  }
  bind(buffer, slot);
  emit(op->body);
}

}  // namespace hone
