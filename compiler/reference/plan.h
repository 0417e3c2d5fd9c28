// Which stages a reference computes as a whole, and what its elements cost.
#pragma once

#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

struct StagePlan {
  const TensorNode* stage = nullptr;
  double evaluations = 0;  ///< of its elements, in all
  bool is_kept = false;    ///< computed once, in workspace; else wherever an element is wanted
  /// Terms of the reduction; 1 where there is none. So many elements of each input are wanted for one of the stage's.
  double terms_per_element() const;
};

/// The stages of `d`, each after those it reads, where `wanted[o]` elements of output o are. A reduction is kept where
/// more evaluations of it are wanted than it has elements, and these are few enough.
std::vector<StagePlan> plan_reference(const Definition& d, const std::vector<double>& wanted);

/// Multiply-adds (or terms of any reduction) that a plan takes; where there is no reduction, elements.
double cost_of(const std::vector<StagePlan>& plan);

}  // namespace hone
