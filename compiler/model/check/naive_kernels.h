// Results of workloads by the naive programs of their definitions, compiled for this machine: the same as evaluate(),
// some hundred times faster.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/tensor_data.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ops/workload.h"

namespace hone {

/// Keeps compiled programs. Small workloads are interpreted, which takes less time than compiling them.
class NaiveKernels {
 public:
  explicit NaiveKernels(const Target& here);
  ~NaiveKernels();

  /// As evaluate() (compiler/graph/evaluate.h), with such denormals. UserError where a program does not compile.
  std::vector<TensorData> evaluate(const Workload& w, std::span<const TensorData> inputs,
                                   Denormals denormals = Denormals::kKeep);

 private:
  Target target_;
  std::map<std::string, std::unique_ptr<LocalKernel>> kernels_;  ///< by workload
};

}  // namespace hone
