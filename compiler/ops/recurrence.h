// Operators that are one workload several times, each on the results of the time before: recurrent layers.
#pragma once

#include <optional>

#include "compiler/ir/repetition.h"
#include "compiler/ops/infer.h"

namespace hone {

/// A workload as several steps.
struct Recurrence {
  Workload step;   ///< the workload that is defined, scheduled, tuned and looked up
  Repetition how;  ///< of its inputs, then its outputs
};

/// Nothing for workloads that are one step.
std::optional<Recurrence> recurrence_of(const Workload& w);

/// The types around all steps, from those around one.
Inferred types_of(const Workload& w, const Recurrence& s);

}  // namespace hone
