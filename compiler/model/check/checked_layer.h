// A workload's kernel beside its reference, on the same inputs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/adversarial.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/local_kernel.h"
#include "compiler/host/local_reference.h"

namespace hone {

/// Outputs as a kernel computed them: their elements in the order of the logical tensors.
using Computed = std::vector<std::vector<char>>;

class CheckedLayer {
 public:
  /// `m`: the kernel of `w`, whose parameters lie packed where `is_packed` says so (Kernel::is_packed). On this
  /// machine, which is `target`. `budget`: multiply-adds that the reference may take for each output, roughly.
  /// `denormals`: how the artifact, and so the kernel, treats them.
  CheckedLayer(const Workload& w, const Module& m, const std::vector<bool>& is_packed, const Target& target,
               double budget, Denormals denormals);

  /// `packed`: the kernel's own tensors for this parameter, where it is a constant that the model has packed.
  void set_input(size_t i, const TensorData& data, const std::vector<const char*>& packed = {});
  /// Runs the kernel, and the reference, on the inputs that were set. Codes other than HONE_OK are in `*wrong`.
  Computed run(std::string* wrong);
  /// Runs the kernel alone: there is nothing to compare() with.
  Computed run_kernel(std::string* wrong);
  /// Output `o` against the reference of the last run. `adversary`: on such inputs, where roundings go one way, each
  /// element is held to its own tolerance alone.
  CheckResult compare(size_t o, const void* got, std::optional<Adversary> adversary) const;
  /// The same of those elements alone for which `only` is true, in the logical tensor.
  CheckResult compare_only(size_t o, const void* got, const std::vector<bool>& only) const {
    return current().compare(o, got, {.only = &only});
  }

  /// An output as it lies in the graph, and back.
  TensorData output(size_t o, const std::vector<char>& got) const;
  TensorData logical_output(size_t o, const TensorData& data) const { return to_logical(data, types_.outputs[o]); }
  /// How many elements of an output are compared, and of how many.
  int64_t samples(size_t o) const { return current().samples(o); }
  int64_t elements(size_t o) const { return element_count(types_.outputs[o].logical.shape); }

 private:
  struct Oracle {
    std::unique_ptr<LocalReference> reference;  ///< null until it is needed
    std::vector<bool> is_set;                   ///< by input: it has the one that was set last
  };

  void set_reference(size_t i, const TensorData& data);
  Oracle& made(bool may_vanish);
  const LocalReference& current() const { return *oracles_[may_vanish_].reference; }
  DType output_type(size_t o) const { return kernel_.module().params[types_.inputs.size() + o].dtype; }

  LocalKernel kernel_;
  const std::vector<bool> is_packed_;
  const PhysicalTypes types_;
  const Workload workload_;
  const Target target_;
  const double budget_;
  const Denormals denormals_;
  std::vector<TensorData> inputs_;
  std::vector<bool> may_vanish_in_;  ///< by input: it has denormals, which are zeros to the kernel
  /// The bounds of the second one let denormal inputs vanish, for which it takes longer.
  Oracle oracles_[2];
  bool may_vanish_ = false;  ///< which of them the last run had
};

}  // namespace hone
