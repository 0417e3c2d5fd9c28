#include "compiler/codegen/llvm/kernel/hoisting_builder.h"

#include <algorithm>

namespace hone {

using llvm::Value;

namespace {

// Keys of operations that are not LLVM instructions.
constexpr unsigned kCompare = 1U << 16, kSelect = 1U << 17, kOffset = 1U << 18, kDisplaced = 1U << 19, kWalk = 1U << 20,
                   kWiden = 1U << 21;

// Pointers that one loop moves along: each takes a register through its body.
constexpr size_t kMaxWalks = 6;

}  // namespace

void HoistingBuilder::push(llvm::Instruction* branch) {
  scopes_.emplace_back();
  scopes_.back().branch = branch;
}

void HoistingBuilder::pop() {
  for (Value* v : scopes_.back().defined) levels_.erase(v);
  scopes_.pop_back();
}

void HoistingBuilder::push_loop(llvm::Instruction* branch, llvm::PHINode* variable, Value* first) {
  if (level_of(first) == innermost()) define(first);  // the value dominates the loop in any case
  push(branch);
  scopes_.back().variable = variable;
  scopes_.back().first = first;
  define(variable);
}

void HoistingBuilder::pop_loop() {
  for (const auto& [pointer, bytes] : scopes_.back().walks)
    pointer->addIncoming(b_.CreateGEP(b_.getInt8Ty(), pointer, b_.getInt64(static_cast<uint64_t>(bytes))),
                         b_.GetInsertBlock());
  pop();
}

void HoistingBuilder::define(Value* value) {
  levels_[value] = innermost();
  scopes_.back().defined.push_back(value);
}

int HoistingBuilder::level_of(Value* value) const {
  const auto found = levels_.find(value);
  if (found != levels_.end()) return found->second;
  return llvm::isa<llvm::Instruction>(value) ? innermost() : 0;
}

template <class Make>
Value* HoistingBuilder::value(unsigned op, Value* a, Value* b, Value* c, int level, const Make& make) {
  Scope& scope = scopes_[static_cast<size_t>(level)];
  const auto [slot, is_new] = scope.values.try_emplace(Key{op, {{a, b}, c}}, nullptr);
  if (!is_new) return slot->second;
  Value* made = nullptr;
  if (level == innermost()) {
    made = make();
  } else {
    const llvm::IRBuilderBase::InsertPointGuard here(b_);
    b_.SetInsertPoint(scopes_[static_cast<size_t>(level) + 1].branch);
    made = make();
  }
  slot->second = made;
  // Constant folding may give back an operand: its level is unchanged.
  if (llvm::isa<llvm::Instruction>(made) && levels_.try_emplace(made, level).second) scope.defined.push_back(made);
  return made;
}

Value* HoistingBuilder::binary(llvm::Instruction::BinaryOps op, Value* a, Value* b) {
  const int level = std::max(level_of(a), level_of(b));
  return value(static_cast<unsigned>(op), a, b, nullptr, level, [&] { return b_.CreateBinOp(op, a, b); });
}

Value* HoistingBuilder::compare(llvm::CmpInst::Predicate op, Value* a, Value* b) {
  const int level = std::max(level_of(a), level_of(b));
  return value(kCompare | static_cast<unsigned>(op), a, b, nullptr, level, [&] { return b_.CreateICmp(op, a, b); });
}

Value* HoistingBuilder::select(Value* condition, Value* a, Value* b) {
  const int level = std::max({level_of(condition), level_of(a), level_of(b)});
  return value(kSelect, condition, a, b, level, [&] { return b_.CreateSelect(condition, a, b); });
}

Value* HoistingBuilder::offset(Value* pointer, Value* bytes) {
  const int level = std::max(level_of(pointer), level_of(bytes));
  return value(kOffset, pointer, bytes, nullptr, level, [&] { return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes); });
}

// `variable`, of up to 64 bits, times `bytes`.
Value* HoistingBuilder::product_in_bytes(Value* variable, Value* bytes) {
  if (variable->getType() != bytes->getType())
    variable = value(kWiden, variable, nullptr, nullptr, level_of(variable),
                     [&] { return b_.CreateSExt(variable, bytes->getType()); });
  return binary(llvm::Instruction::Mul, variable, bytes);
}

Value* HoistingBuilder::walk(Value* pointer, Value* variable, int64_t bytes) {
  Value* constant = b_.getInt64(static_cast<uint64_t>(bytes));
  const auto level = static_cast<size_t>(level_of(variable));
  const bool is_scale = scaled_addresses_ && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
  Scope& scope = scopes_[level];
  if (scope.variable != variable || level_of(pointer) >= static_cast<int>(level) || is_scale)
    return offset(pointer, product_in_bytes(variable, constant));
  if (const auto found = scope.values.find(Key{kWalk, {{pointer, constant}, nullptr}}); found != scope.values.end())
    return found->second;
  if (scope.walks.size() >= kMaxWalks) return offset(pointer, product_in_bytes(variable, constant));
  Value* start = offset(pointer, product_in_bytes(scope.first, constant));
  llvm::PHINode* phi = llvm::PHINode::Create(pointer->getType(), 2, "walk", scope.variable->getIterator());
  phi->addIncoming(start, scope.branch->getParent());
  scope.walks.emplace_back(phi, bytes);
  scope.values[Key{kWalk, {{pointer, constant}, nullptr}}] = phi;
  levels_[phi] = static_cast<int>(level);
  scope.defined.push_back(phi);
  return phi;
}

Value* HoistingBuilder::displaced(Value* pointer, int64_t bytes) {
  if (bytes == 0) return pointer;
  Value* constant = b_.getInt64(static_cast<uint64_t>(bytes));
  return value(kDisplaced, pointer, constant, nullptr, innermost(),
               [&] { return b_.CreateGEP(b_.getInt8Ty(), pointer, constant); });
}

}  // namespace hone
