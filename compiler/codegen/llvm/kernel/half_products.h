// ARM: products of f16 that are summed in f32, by the instructions that widen them. Private to codegen/llvm.
#pragma once

#include <llvm/IR/PassManager.h>

namespace hone {

/// fmuladd(fpext <4 x half> a, fpext <4 x half> b, <4 x float> sum)  ->  fmlal(sum, a, b)
/// Either factor may be one number for all lanes. The halves of a vector that lie behind each other in memory are read
/// at once, for fmlal and fmlal2. Both are exact but for the rounding of the sum, as fused multiply-adds of floats are.
/// For processors with FEAT_FHM.
struct MultiplyHalves : llvm::PassInfoMixin<MultiplyHalves> {
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace hone
