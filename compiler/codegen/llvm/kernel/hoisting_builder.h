// Pure integer arithmetic, each value emitted once and as far out as its operands allow. Private to codegen/llvm.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace hone {

/// Unrolled code repeats the same index arithmetic in every statement; removing the repetitions is most of the work of
/// generic passes over such code. Here they are never emitted: a value is looked up before it is made, and made in the
/// scope of its innermost operand, ahead of the loops and branches that are open by then. Only for operations that
/// cannot trap, because they may run where the source would not have run them.
class HoistingBuilder {
 public:
  /// `scaled_addresses`: the machine's addresses multiply an index by one, two, four or eight for free.
  explicit HoistingBuilder(llvm::IRBuilderBase& builder, bool scaled_addresses = true)
      : b_(builder), scaled_addresses_(scaled_addresses), scopes_(1) {}

  /// Until pop(), code is emitted into blocks that only `branch` reaches: a case of an If. Values of outer scopes go
  /// ahead of `branch`.
  void push(llvm::Instruction* branch);
  void pop();
  /// The same for the body of a loop, which `branch` enters with `variable` == `first`. The builder stands in the
  /// body's first block, which has `variable` as a phi. pop_loop() adds the increments of the loop's pointers where the
  /// builder stands then: in the block that jumps back.
  void push_loop(llvm::Instruction* branch, llvm::PHINode* variable, llvm::Value* first);
  void pop_loop();
  /// Declares that `value` dominates the whole function: a slot of its frame.
  void define_everywhere(llvm::Value* value) { levels_[value] = 0; }
  /// The scope in which a value is defined, counted from the function. An instruction made elsewhere counts as made in
  /// the innermost scope.
  int level_of(llvm::Value* value) const;
  int innermost() const { return static_cast<int>(scopes_.size()) - 1; }

  llvm::Value* binary(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(llvm::CmpInst::Predicate op, llvm::Value* a, llvm::Value* b);
  llvm::Value* select(llvm::Value* condition, llvm::Value* a, llvm::Value* b);
  /// `pointer` + `bytes`.
  llvm::Value* offset(llvm::Value* pointer, llvm::Value* bytes);
  /// `pointer` + `variable` * `bytes`, in 64 bits: a pointer that is incremented in each iteration of a loop where that
  /// is cheaper than computing it anew.
  llvm::Value* walk(llvm::Value* pointer, llvm::Value* variable, int64_t bytes);
  /// `pointer` + a constant: in the innermost scope, where it becomes part of the instruction that accesses memory.
  llvm::Value* displaced(llvm::Value* pointer, int64_t bytes);
  /// Whether `value` is the induction variable of an open loop.
  bool is_loop_variable(llvm::Value* value) const {
    return scopes_[static_cast<size_t>(level_of(value))].variable == value;
  }

 private:
  /// Key of a value: its operation (with the predicate of a comparison) and operands.
  using Key = std::pair<unsigned, std::pair<std::pair<llvm::Value*, llvm::Value*>, llvm::Value*>>;
  struct Scope {
    llvm::Instruction* branch = nullptr;
    llvm::DenseMap<Key, llvm::Value*> values;
    std::vector<llvm::Value*> defined;
    // For the scope of a loop:
    llvm::PHINode* variable = nullptr;
    llvm::Value* first = nullptr;
    std::vector<std::pair<llvm::PHINode*, int64_t>> walks;  ///< pointers that move, and by how much
  };

  void define(llvm::Value* value);
  llvm::Value* product_in_bytes(llvm::Value* variable, llvm::Value* bytes);
  template <class Make>
  llvm::Value* value(unsigned op, llvm::Value* a, llvm::Value* b, llvm::Value* c, int level, const Make& make);

  llvm::IRBuilderBase& b_;
  const bool scaled_addresses_;
  std::vector<Scope> scopes_;
  llvm::DenseMap<llvm::Value*, int> levels_;
};

}  // namespace hone
