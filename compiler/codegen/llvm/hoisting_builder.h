// Pure integer arithmetic, each value emitted once and as far out as its operands allow. Private to codegen/llvm.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace hone {

/// Index arithmetic of unrolled code repeats itself in every statement; taking that out again is most of what passes
/// over such code do. Here it never gets in: a value is looked up before it is made, and made in the scope of its
/// innermost operand, ahead of the loops and branches that are open by then. Only for what cannot trap, because it may
/// run where the source would not have.
class HoistingBuilder {
 public:
  /// `scaled_addresses`: one, two, four and eight times an index cost nothing in the machine's addresses.
  explicit HoistingBuilder(llvm::IRBuilderBase& builder, bool scaled_addresses = true)
      : b_(builder), scaled_addresses_(scaled_addresses), scopes_(1) {}

  /// Until pop(), code is emitted into blocks that are reached by `branch` only: a case of an If. Values of outer
  /// scopes go ahead of `branch`.
  void push(llvm::Instruction* branch);
  void pop();
  /// The same for the body of a loop, which `branch` enters with `variable` == `first`; the builder stands in its first
  /// block, of which `variable` is a phi. pop_loop() closes the loop's walks where the builder stands: in the block
  /// that jumps back.
  void push_loop(llvm::Instruction* branch, llvm::PHINode* variable, llvm::Value* first);
  void pop_loop();
  /// `value` exists in the whole function: a slot of its frame.
  void define_everywhere(llvm::Value* value) { levels_[value] = 0; }
  /// The scope of a value's definition, counted from the function. An instruction that was made elsewhere counts as
  /// made just now.
  int level_of(llvm::Value* value) const;
  int innermost() const { return static_cast<int>(scopes_.size()) - 1; }

  llvm::Value* binary(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(llvm::CmpInst::Predicate op, llvm::Value* a, llvm::Value* b);
  llvm::Value* select(llvm::Value* condition, llvm::Value* a, llvm::Value* b);
  /// `pointer` + `bytes`.
  llvm::Value* offset(llvm::Value* pointer, llvm::Value* bytes);
  /// `pointer` + `variable` * `bytes`, in 64 bits: a pointer that moves on in each pass of a loop where that is cheaper
  /// than to compute it anew.
  llvm::Value* walk(llvm::Value* pointer, llvm::Value* variable, int64_t bytes);
  /// `pointer` + a constant: in the innermost scope, where it becomes part of the instruction that accesses memory.
  llvm::Value* displaced(llvm::Value* pointer, int64_t bytes);
  /// Whether `value` is what a loop that is open counts with.
  bool is_loop_variable(llvm::Value* value) const {
    return scopes_[static_cast<size_t>(level_of(value))].variable == value;
  }

 private:
  /// What a value is made of: its operation (with the predicate of a comparison) and operands.
  using Key = std::pair<unsigned, std::pair<std::pair<llvm::Value*, llvm::Value*>, llvm::Value*>>;
  struct Scope {
    llvm::Instruction* branch = nullptr;
    llvm::DenseMap<Key, llvm::Value*> values;
    std::vector<llvm::Value*> defined;
    // Where the scope is a loop's:
    llvm::PHINode* variable = nullptr;
    llvm::Value* first = nullptr;
    std::vector<std::pair<llvm::PHINode*, int64_t>> walks;  ///< and how far each moves
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
