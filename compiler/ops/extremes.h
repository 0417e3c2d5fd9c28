// Workloads with two further outputs, the least and the greatest element of the result: quantisation by the result's
// own range needs them.
#pragma once

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/definition.h"

namespace hone {

/// `extremes`, 0 or 1: with 1 the workload has two more outputs, `least` and `most`, of one element each.
Attribute extremes_attribute();

/// Whether the operator has the attribute; it is set.
bool can_tell_extremes(const Workload& w);
bool tells_extremes(const Workload& w);

/// `w` with extremes=1.
Workload with_extremes(const Workload& w);
/// `w` with extremes=0, which is scheduled, tuned and looked up. The extremes are added to the lowered module
/// (lower/extremes.h), whatever the schedule is.
Workload without_extremes(const Workload& w);

/// Adds the outputs `least` and `most`, over all elements of the only output of `d`.
void add_extremes(Definition* d);

}  // namespace hone
