// Code of a region of nests on vector registers that hold 2 x 2 sums: Arm's FEAT_I8MM and FEAT_BF16 (tile_nest.h).
// Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <unordered_map>
#include <vector>

#include "compiler/codegen/llvm/kernel/emit_expr.h"
#include "compiler/codegen/llvm/kernel/emit_nests.h"

namespace hone {

/// Each block of C is a variable of the function, which LLVM gives a register: rows lie behind each other in it. A
/// factor is loaded once where nests that follow each other share it: whole where its two rows lie together, else row
/// by row.
class BlockEmitter final : public NestEmitter {
 public:
  BlockEmitter(llvm::IRBuilderBase& b, ExprEmitter& expr) : b_(b), expr_(expr) {}

  void begin(const TileRegion& region) override;
  void emit_nest(const TileNest& nest) override;
  void forget() override { loaded_.clear(); }
  void end() override;

 private:
  /// Where row `row` of an operand begins.
  llvm::Value* row(const TileNest::Operand& operand, int row);
  /// Two rows of `elements` each.
  llvm::Value* rows(const TileNest::Operand& operand, int64_t elements);
  llvm::Value* factor(const TileNest::Operand& operand, int64_t depth);
  /// Whether the instruction gives columns in the place of rows: its first factor is the unsigned one.
  bool swaps() const { return region_->unit().a == "s8" && region_->unit().b == "u8"; }

  llvm::IRBuilderBase& b_;
  ExprEmitter& expr_;
  const TileRegion* region_ = nullptr;
  std::vector<llvm::AllocaInst*> sums_;  ///< of region_->sums
  struct Loaded {
    TileNest::Operand operand;
    llvm::Value* value;
  };
  std::vector<Loaded> loaded_;
};

}  // namespace hone
