// Operations that the threads of a warp carry out together, as calls of LLVM's intrinsics for NVIDIA: products on
// tensor cores and sums by shuffles, as codegen/gpu selected them. Private to codegen/nvptx.
#pragma once

#include <vector>

#include "compiler/codegen/gpu/select_instructions.h"
#include "compiler/codegen/llvm/kernel/emit_expr.h"
#include "compiler/codegen/nvptx/tile_pairs.h"

namespace hone {

class WarpEmitter {
 public:
  /// `lane`: the thread's number in its warp, bound in `expr`.
  WarpEmitter(llvm::IRBuilderBase& builder, ExprEmitter& expr, Var lane, int compute_capability)
      : b_(builder), expr_(expr), lane_(std::move(lane)), compute_capability_(compute_capability) {}

  /// A nest by itself. The fragments of B are read with the neighbour's; null: there is none.
  void emit_product(const TensorNest& nest, const TilePair* pair);
  void emit_sum(const WarpSum& sum);

 private:
  std::vector<llvm::Value*> rows_at(const Buffer& buffer, const Expr& position, int matrices, bool transposes);
  std::vector<llvm::Value*> rows_of_b(const TensorNest::Operand& b, const TilePair* pair);
  std::vector<llvm::Value*> rounded(std::vector<llvm::Value*> parts);
  std::vector<llvm::Value*> multiply(std::string_view types, const std::vector<llvm::Value*>& a,
                                     const std::vector<llvm::Value*>& b, std::vector<llvm::Value*> c);
  llvm::Value* shuffled(llvm::Value* value, int64_t apart);

  llvm::IRBuilderBase& b_;
  ExprEmitter& expr_;
  const Var lane_;
  const int compute_capability_;
};

}  // namespace hone
