// Operations that the threads of a warp carry out together, as calls of LLVM's intrinsics for NVIDIA: products on
// tensor cores and sums by shuffles, as codegen/gpu selected them. Private to codegen/nvptx.
#pragma once

#include <vector>

#include "compiler/codegen/gpu/select_instructions.h"
#include "compiler/codegen/llvm/kernel/emit_expr.h"

namespace hone {

/// Whether LLVM writes such products for PTX of this compute capability: from 80 on, where one instruction is a tile.
/// (PTX of sm_75, as LLVM writes it, is of a version that has none.)
constexpr bool has_ptx_products(int compute_capability) { return compute_capability >= 80; }

class WarpEmitter {
 public:
  /// `lane`: the thread's number in its warp, bound in `expr`.
  WarpEmitter(llvm::IRBuilderBase& builder, ExprEmitter& expr, Var lane, int compute_capability)
      : b_(builder), expr_(expr), lane_(std::move(lane)), compute_capability_(compute_capability) {}

  /// A nest by itself: of `product` only `nest` is read.
  void emit_product(const TensorNest& nest);
  void emit_sum(const WarpSum& sum);

 private:
  std::vector<llvm::Value*> rows_of(const TensorNest::Operand& operand, const Expr& position, int matrices,
                                    bool transposes);
  std::vector<llvm::Value*> rounded(std::vector<llvm::Value*> parts);
  std::vector<llvm::Value*> multiply(const TensorNest& nest, std::vector<llvm::Value*> a, std::vector<llvm::Value*> b,
                                     const std::vector<llvm::Value*>& c);
  llvm::Value* shuffled(llvm::Value* value, int64_t apart);

  llvm::IRBuilderBase& b_;
  ExprEmitter& expr_;
  const Var lane_;
  const int compute_capability_;
};

}  // namespace hone
