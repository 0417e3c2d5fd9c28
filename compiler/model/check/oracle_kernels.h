// Reference results of workloads in models of any size: large ones by kernels that agreed with their references.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/denormals.h"
#include "compiler/model/check/naive_kernels.h"

namespace hone {

/// Keeps compiled kernels.
class OracleKernels {
 public:
  explicit OracleKernels(const Target& here);
  ~OracleKernels();

  /// As evaluate() (compiler/graph/evaluate.h), up to roundings, with such denormals. UserError where a program does
  /// not compile. Other denormals than in the call before cost a workload's compilation.
  std::vector<TensorData> evaluate(const Workload& w, std::span<const TensorData> inputs,
                                   Denormals denormals = Denormals::kKeep);
  /// How many workloads were computed by kernels that are not naive.
  size_t fast() const;

 private:
  class Fast;

  const Target target_;
  NaiveKernels naive_;
  std::map<std::string, std::unique_ptr<Fast>> fast_;  ///< by workload; null: it is computed naively
};

}  // namespace hone
