// Code of a region of nests on registers of tiles (tile_nest.h). Private to codegen/llvm.
#pragma once

#include "compiler/codegen/legalize/tile_nest.h"
#include "compiler/codegen/llvm/kernel/emit_expr.h"
#include "compiler/codegen/llvm/kernel/emit_nests.h"
#include "compiler/codegen/llvm/kernel/tile_instructions.h"

namespace hone {

/// The registers of one region: the first ones hold the tiles of C from begin() to end(), the others the tiles of A and
/// B that were loaded last.
class TileEmitter final : public NestEmitter {
 public:
  /// `zero`: the sums begin at zero, else at what memory has.
  TileEmitter(llvm::IRBuilderBase& b, ExprEmitter& expr, TileCode code, bool zero)
      : b_(b), expr_(expr), code_(b, code), zero_(zero) {}

  void begin(const TileRegion& region) override;
  void emit_nest(const TileNest& nest) override;
  void forget() override;
  void end() override;

 private:
  int loaded(const TileNest::Operand& operand, int beside);
  llvm::Value* pointer(const TileNest::Operand& operand);
  llvm::Value* stride(const TileNest::Operand& operand);

  llvm::IRBuilderBase& b_;
  ExprEmitter& expr_;
  TileInstructions code_;
  const bool zero_;
  const TileRegion* region_ = nullptr;
  struct Loaded {
    TileNest::Operand operand;
    int tile;
  };
  std::vector<Loaded> loaded_;  ///< the one that was used last is the last
  int tiles_ = 0;
};

}  // namespace hone
