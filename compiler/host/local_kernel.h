// A Module compiled and loaded into this process, with tensors to run it on: for --bench, --check and tests.
#pragma once

#include <memory>
#include <vector>

#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/ir/denormals.h"
#include "compiler/ir/module.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/buffer.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"

namespace hone {

class LocalKernel {
 public:
  /// Compiles `m` for `target`, which must be this machine's, and gives it tensors (contents zero). `checked_accesses`:
  /// nodes of `m`, and the rest, as CodegenOptions has them. UserError when it does not compile or load.
  LocalKernel(const Module& m, const Target& target, const std::vector<const void*>& checked_accesses = {},
              Denormals denormals = Denormals::kKeep, TileCode tile_code = TileCode::kInstructions);
  ~LocalKernel();
  LocalKernel(const LocalKernel&) = delete;
  LocalKernel& operator=(const LocalKernel&) = delete;

  const Module& module() const { return module_; }
  /// Packs row-major logical elements of parameter `i` into its layout. `logical` has as many as the parameter's shape
  /// says.
  void set_input(size_t i, const void* logical);
  /// The row-major logical elements of parameter `i`.
  std::vector<char> get_output(size_t i) const;
  /// Bytes of parameter `i` as the kernel sees them; of several tensors that its prepack makes, number `k`.
  HostTensor& physical(size_t i, size_t k = 0) { return tensors_[first_argument_[i] + k]; }
  /// Where its intermediate results lie. Contents undefined before a run.
  const AlignedBuffer& workspace() const { return workspace_; }
  /// Runs the kernel once; its return code.
  int32_t run();
  /// The calling thread where run() has it. To be held while many calls are timed: moving it takes several
  /// microseconds.
  PinnedCaller pinned() const { return PinnedCaller(first_cpu_); }
  /// run() on a thread that is pinned() already.
  int32_t run_here();

 private:
  Module module_;
  std::vector<HostTensor> tensors_;     ///< the kernel's arguments
  std::vector<size_t> first_argument_;  ///< by parameter
  std::vector<const DLTensor*> views_;
  AlignedBuffer workspace_;
  int first_cpu_ = 0;  ///< where the calling thread runs; worker i runs on the i-th CPU after it
  ThreadPool pool_;
  std::unique_ptr<Artifact> artifact_;
};

}  // namespace hone
