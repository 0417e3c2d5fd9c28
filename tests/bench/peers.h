// Libraries that the kernel benchmark compares with: each makes runnable calls for a workload, on tensors of its own,
// in its own layouts.
#pragma once

#include <vector>

#include "compiler/ops/workload.h"
#include "tests/bench/contenders.h"

namespace hone::bench {

/// oneDNN: for convolutions `onednn_direct`, `onednn_auto` and, where it has one, `onednn_winograd`; for the others
/// `onednn`. All layouts are its own choice, but a batch_matmul's, whose operands both arrive at run time, a pooling's
/// (nChw16c where that is the workload's choice) and what works on plain tensors: single functions of elementwise, and
/// reductions. Products and convolutions of f32, and of u8 by s8 in s32. Empty for what it does not do, or only by its
/// reference implementation.
std::vector<Contender> onednn_contenders(const Workload& w, int threads);

/// OpenBLAS: `openblas`, sgemm, for dense and batch_matmul in fp32.
std::vector<Contender> openblas_contenders(const Workload& w, int threads);

}  // namespace hone::bench
