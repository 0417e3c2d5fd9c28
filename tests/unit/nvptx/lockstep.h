// Runs on this CPU the code that LLVM would make PTX of: the same LLVM IR, whose few questions to a GPU (which thread,
// which block, a barrier, the work of a warp together) are put to this harness. The threads of a block are fibers that
// change places at barriers and where their warp waits for them only, in ascending and descending order by turns, so
// that a missing barrier gives wrong results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/artifact.h"

namespace hone {

class LockstepProgram {
 public:
  /// Takes the result of emit_ptx_llvm_text(). Throws std::runtime_error for code that asks a GPU for anything else.
  explicit LockstepProgram(const std::string& llvm_text);
  ~LockstepProgram();

  /// Runs all blocks of a launch, one after the other. Throws where a thread ends while others wait at a barrier.
  void run(const GpuLaunch& launch, const std::vector<void*>& arguments);

 private:
  std::unique_ptr<Artifact> code_;
};

}  // namespace hone
