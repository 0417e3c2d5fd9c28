// Programs in loop form and the means to compile and run them, for the tests of code generation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/module.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/buffer.h"

namespace hone {

/// This machine, and lesser ones whose code it runs: AVX-512 without its 512 bits, AVX2, neither vectors of 256 bits
/// nor FMA.
std::vector<Target> targets_here();

/// Targets with and without arithmetic in f16 and bf16, without `llvm -mtriple=`.
inline constexpr const char* kNarrowFloatCpus[] = {"x86_64-linux -mcpu=haswell",
                                                   "x86_64-linux -mcpu=alderlake",
                                                   "x86_64-linux -mcpu=cascadelake",
                                                   "x86_64-linux -mcpu=cooperlake",
                                                   "x86_64-linux -mcpu=icelake-server",
                                                   "x86_64-linux -mcpu=sapphirerapids",
                                                   "x86_64-linux -mcpu=graniterapids",
                                                   "x86_64-linux -mcpu=znver3",
                                                   "x86_64-linux -mcpu=znver4",
                                                   "x86_64-linux -mcpu=znver5",
                                                   "x86_64-linux -mcpu=znver5 -mattr=-avx512bf16",
                                                   "x86_64-linux -mcpu=icelake-server -mattr=+avx512bf16",
                                                   "aarch64-linux -mcpu=generic",
                                                   "aarch64-linux -mcpu=cortex-a72",
                                                   "aarch64-linux -mcpu=cortex-a76",
                                                   "aarch64-linux -mcpu=cortex-a78",
                                                   "aarch64-linux -mcpu=cortex-a78ae",
                                                   "aarch64-linux -mcpu=cortex-x1",
                                                   "aarch64-linux -mcpu=carmel",
                                                   "aarch64-linux -mcpu=neoverse-n1",
                                                   "aarch64-linux -mcpu=neoverse-n2",
                                                   "aarch64-linux -mcpu=neoverse-v1",
                                                   "aarch64-linux -mcpu=neoverse-v2",
                                                   "aarch64-linux -mcpu=neoverse-v2 -mattr=-bf16"};

/// One kernel as a Module; the last parameter is the output. Identity layouts.
Module module_of(const Function& f, int64_t workspace_bytes = 0, int workers = 1);

/// A compiled module and the folder it lies in, removed with it.
class CompiledModule {
 public:
  explicit CompiledModule(const Module& m, const CodegenOptions& options = {}, const Target& target = host_target(1));
  explicit CompiledModule(const std::vector<std::string>& objects, const std::string& name = "kernel");
  ~CompiledModule();
  HoneEntry entry() const { return artifact_->entry(); }
  const Artifact& artifact() const { return *artifact_; }
  const std::string& path() const { return path_; }
  int32_t run(const std::vector<HostTensor>& tensors, void* workspace = nullptr, const HoneRuntime* rt = nullptr) const;

 private:
  std::string folder_, path_;
  std::vector<Artifact> holder_;
  const Artifact* artifact_ = nullptr;
};

/// One tensor per parameter of `f`, filled from a fixed sequence of small numbers.
std::vector<HostTensor> tensors_of(const Function& f, uint64_t seed = 1);

/// C[m,n] = A[m,k] B[k,n] with a tile of rows x columns accumulators in registers, k unrolled by `unroll`; f32, vector
/// columns. All extents must be multiples. `parallel` splits the rows of tiles between workers.
Function tiled_matmul(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t columns, int64_t unroll,
                      bool parallel = false);

}  // namespace hone
