// The generic template: elementwise stages around at most one reduction.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// For callers that know more of a definition than the template can see.
struct FusedOptions {
  std::set<std::string> kept = {};               ///< stages that are computed once, in nests of their own
  std::vector<int64_t> row_choices = {1, 2, 4};  ///< rows side by side in a reduction with lanes
  int64_t usual_rows = 1;                        ///< of these
};

/// Declares, checks or applies like a TemplateFunction, from the definition alone: for any stages with at most one
/// reduction, however they were made. Stages without reductions are computed where they are read, unless that would
/// make one statement too long. UserError for two reductions.
///
/// A reduction over the contiguous axis runs in lanes that are combined at its end, several rows side by side; any
/// other in vectors along the contiguous axis of its output. Either has several accumulators in registers and may be
/// cut in chunks that run in parallel.
void fused_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule,
               const FusedOptions& options = {});

}  // namespace hone
