// The highest rate of operations that this machine can reach on a workload.
#pragma once

#include "compiler/host/machine_roof.h"
#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone {

/// GFLOPS: those of f32; for int8 products (u8 by s8 in s32) four times that where the processor sums four at once, for
/// sums in f16 twice that; where the target has a unit of matrices for the types (nest_unit()),
/// MatrixUnit::times_fma.
double arithmetic_peak(const MachineRoof& roof, const Workload& w, const Target& target);

}  // namespace hone
