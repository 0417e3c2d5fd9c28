// The generic template: elementwise stages around at most one reduction.
#pragma once

#include <memory>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// Declares, checks or applies like a TemplateFunction, from the definition alone: for any stages of which at most one
/// is a reduction, however they were made. Stages without reductions are computed where they are read, unless that
/// would make one statement too long. UserError for two reductions.
///
/// A reduction over the contiguous axis runs in lanes that are combined at its end, several rows side by side; any
/// other in vectors along the contiguous axis of its output. Either has several accumulators in registers and may be
/// cut in chunks that run in parallel.
void fused_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
