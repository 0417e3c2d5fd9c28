// The generic CPU template: any definition at all.
#pragma once

#include <memory>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// Declares, checks or applies like a TemplateFunction, from the definition alone, whatever it is made of: it chooses
/// between those named below and that of stage_nests.h.
void generic_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// Any number of reductions and outputs: each reduction a nest of its own, in the order of their dependency.
/// Elementwise stages are computed where they are read, unless that would make one statement too long, or one that
/// calls functions would be computed for more elements than it has; then they have nests, too.
///
/// fused_cpu (fused.h) takes one output and at most one reduction; row_wise_cpu (row_wise.h) several over the same
/// rows.
void nests_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
