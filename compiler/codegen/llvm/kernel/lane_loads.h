// ARM: elements of one row that are multiplied with vectors, read together. Private to codegen/llvm.
#pragma once

#include <llvm/IR/Instruction.h>
#include <llvm/IR/PassManager.h>

namespace hone {

/// In innermost loops of one block:
///   splat(load p), splat(load p + 4), splat(load p + 8), splat(load p + 12)
///     ->   v = load <4 x f32> p;   splat(v[0]), splat(v[1]), splat(v[2]), splat(v[3])
/// NEON multiplies a vector by any lane of another one, so an unrolled reduction takes a quarter of the loads (two
/// elements: half of them; eight of f16: an eighth). Elements of f16 that are widened to f32 first are widened
/// together, too. Left as they are where the rows and the loop's accumulators do not fit the registers together.
struct ReadLanesTogether : llvm::PassInfoMixin<ReadLanesTogether> {
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);
};

/// Whether an instruction may write memory that loads read. Prefetches do not.
bool writes_memory(const llvm::Instruction& i);

}  // namespace hone
