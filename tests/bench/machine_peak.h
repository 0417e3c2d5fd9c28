// The machine's measured peak: independent fused multiply-adds in registers, on all threads at once.
#pragma once

#include "compiler/runtime/thread_pool.h"

namespace hone::bench {

/// fp32 GFLOPS that the pool's workers reach together, the best of a few rounds of some milliseconds.
double measured_peak_gflops(ThreadPool& pool);

}  // namespace hone::bench
