// The reference of a workload, compiled into this process, and outputs held to it: for --check and tests.
#pragma once

#include <memory>
#include <vector>

#include "compiler/check/checker.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ops/definition.h"

namespace hone {

/// How an output is compared.
struct CompareOptions {
  /// All errors together are bounded, too. Not on inputs where roundings go one way: there each element is held to its
  /// own tolerance alone.
  bool bounds_norm = true;
  double more_tolerance = 0;                ///< for each element of floats, added to its own
  const std::vector<bool>* only = nullptr;  ///< by logical element: which are compared; null: all samples
};

class LocalReference {
 public:
  /// Computes sampled elements of each output: see reference_samples(), whose `seed` and `budget` these are. Runs on
  /// the threads of `target`, which must be this machine's. `denormals`: of the kernel, see reference_module().
  LocalReference(Definition d, uint64_t seed, double budget, const Target& target,
                 Denormals denormals = Denormals::kKeep);

  size_t outputs() const { return samples_.size(); }
  /// How many elements of an output are compared.
  int64_t samples(size_t output) const { return std::ssize(samples_[output]); }
  /// Row-major logical elements of the definition's input `i`.
  void set_input(size_t i, const void* logical) { kernel_->set_input(samples_.size() + i, logical); }
  Status run() { return status_of(kernel_->run()); }
  /// `got`: row-major logical elements of that output, against the last run on the inputs that were set.
  CheckResult compare(size_t output, const void* got, const CompareOptions& options = {}) const;

 private:
  const Definition definition_;
  std::vector<std::vector<int64_t>> samples_;  ///< by output
  std::unique_ptr<LocalKernel> kernel_;
};

}  // namespace hone
