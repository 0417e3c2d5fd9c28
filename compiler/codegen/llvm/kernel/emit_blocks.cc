#include "compiler/codegen/llvm/kernel/emit_blocks.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicsAArch64.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "compiler/codegen/legalize/dot_words.h"

namespace hone {

using llvm::Value;

namespace {

// The type of elements in memory.
llvm::Type* element_type(llvm::IRBuilderBase& b, DType t) { return t == bf16 ? b.getBFloatTy() : llvm_type(b, t); }

llvm::Intrinsic::ID instruction_of(const MatrixUnit& u) {
  if (u.product == "smmla") return llvm::Intrinsic::aarch64_neon_smmla;
  if (u.product == "ummla") return llvm::Intrinsic::aarch64_neon_ummla;
  if (u.product == "usmmla") return llvm::Intrinsic::aarch64_neon_usmmla;
  HONE_ICHECK(u.product == "bfmmla") << "no instruction of blocks is called " << u.product;
  return llvm::Intrinsic::aarch64_neon_bfmmla;
}

constexpr int kInOrder[] = {0, 1, 2, 3}, kSwapped[] = {0, 2, 1, 3};  // elements of a block of 2 x 2

// Whether the columns of `y` follow those of `x` in the same rows.
bool is_beside(const TileNest::Operand& x, const TileNest::Operand& y) {
  return x.buffer.same_as(y.buffer) && x.stride == y.stride && constant_distance(x.first, y.first) == 2;
}

}  // namespace

Value* BlockEmitter::row(const TileNest::Operand& operand, int row) {
  return expr_.element_pointer(operand.buffer.get(), row ? operand.first + operand.stride : operand.first);
}

Value* BlockEmitter::rows(const TileNest::Operand& operand, int64_t elements) {
  const DType t = operand.buffer->dtype;
  const llvm::Align alignment(static_cast<uint64_t>(t.lane_bytes()));
  const auto load = [&](Value* from, int64_t count) {
    auto* type = llvm::FixedVectorType::get(element_type(b_, t), static_cast<unsigned>(count));
    return b_.CreateAlignedLoad(type, from, alignment);
  };
  if (operand.stride == elements) return load(row(operand, 0), 2 * elements);
  std::vector<int> both(static_cast<size_t>(2 * elements));
  std::iota(both.begin(), both.end(), 0);
  Value* first = load(row(operand, 0), elements);
  return b_.CreateShuffleVector(first, load(row(operand, 1), elements), both);
}

Value* BlockEmitter::factor(const TileNest::Operand& operand, int64_t depth) {
  const auto known =
      std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& l) { return l.operand.is(operand); });
  if (known != loaded_.end()) return known->value;
  loaded_.push_back({operand, rows(operand, depth)});
  return loaded_.back().value;
}

void BlockEmitter::begin(const TileRegion& region) {
  region_ = &region;
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  for (const TileNest::Operand& c : region.sums) {
    Value* block = rows(c, 2);
    if (swaps()) block = b_.CreateShuffleVector(block, kSwapped);
    sums_.push_back(llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(block->getType(), nullptr, "block"));
    b_.CreateStore(block, sums_.back());
  }
  forget();
}

void BlockEmitter::emit_nest(const TileNest& nest) {
  const auto at = std::find_if(region_->sums.begin(), region_->sums.end(),
                               [&](const TileNest::Operand& c) { return c.is(nest.c); });
  llvm::AllocaInst* const sum = sums_[static_cast<size_t>(at - region_->sums.begin())];
  Value *a = factor(nest.a, nest.unit->depth), *b = factor(nest.b, nest.unit->depth);
  if (swaps()) std::swap(a, b);
  Value* const before = b_.CreateLoad(sum->getAllocatedType(), sum);
  const llvm::Intrinsic::ID instruction = instruction_of(*nest.unit);
  // Those of bytes are overloaded.
  const bool has_types = instruction != llvm::Intrinsic::aarch64_neon_bfmmla;
  const llvm::SmallVector<llvm::Type*, 2> types{before->getType(), a->getType()};
  b_.CreateStore(
      b_.CreateIntrinsic(instruction, has_types ? types : llvm::SmallVector<llvm::Type*, 2>{}, {before, a, b}), sum);
}

// Neighbouring blocks are stored together: LLVM then finds whole vectors where a writer reads them.
void BlockEmitter::end() {
  const int* const from = swaps() ? kSwapped : kInOrder;
  for (size_t s = 0; s < sums_.size(); ++s) {
    const TileNest::Operand& c = region_->sums[s];
    Value* const block = b_.CreateLoad(sums_[s]->getAllocatedType(), sums_[s]);
    Value* beside = nullptr;
    if (s + 1 < sums_.size() && is_beside(c, region_->sums[s + 1])) {
      ++s;
      beside = b_.CreateLoad(sums_[s]->getAllocatedType(), sums_[s]);
    }
    for (int r = 0; r < 2; ++r) {
      const int first = from[2 * r], second = from[2 * r + 1];
      Value* const elements = beside ? b_.CreateShuffleVector(block, beside, {first, second, 4 + first, 4 + second})
                                     : b_.CreateShuffleVector(block, {first, second});
      b_.CreateAlignedStore(elements, row(c, r), llvm::Align(static_cast<uint64_t>(c.buffer->dtype.lane_bytes())));
    }
  }
  forget();
}

}  // namespace hone
