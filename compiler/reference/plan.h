// Which stages a reference computes as a whole, and the cost of its elements.
#pragma once

#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

struct StagePlan {
  const TensorNode* stage = nullptr;
  double evaluations = 0;  ///< elements of the stage that are evaluated, in all
  bool is_kept = false;    ///< computed once, in workspace; else recomputed at each use
  /// Terms of the reduction; 1 without one. The stage reads that many elements of each input for one of its own.
  double terms_per_element() const;
};

/// The stages of `d`, each after those it reads, when `wanted[o]` elements of output o are wanted. A reduction is kept
/// where it would be evaluated more often than it has elements, and these are few enough; a scan always. UserError for
/// a scan of too many elements.
std::vector<StagePlan> plan_reference(const Definition& d, const std::vector<double>& wanted);

/// Multiply-adds (or terms of any reduction) that a plan takes; where there is no reduction, elements.
double cost_of(const std::vector<StagePlan>& plan);

}  // namespace hone
