// What this machine can compute of a workload at the most.
#pragma once

#include "compiler/cli/machine_roof.h"
#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone {

/// Whether a workload sums products of bytes (u8 by s8 in s32).
bool sums_bytes(const Workload& w);

/// Operations a second, in 1e9: those of f32, or for sums of bytes as many times that as a dot product sums at once.
double arithmetic_peak(const MachineRoof& roof, const Workload& w, const Target& target);

}  // namespace hone
