// The machine's peak rates of arithmetic and memory, measured.
#pragma once

#include "compiler/runtime/thread_pool.h"

namespace hone {

/// fp32 GFLOPS that the pool's workers reach together with independent fused multiply-adds in registers: the best of a
/// few rounds of some milliseconds.
double measured_peak_gflops(ThreadPool& pool);

/// GB/s at which the pool's workers together read `bytes` bytes again and again, each a part of its own: the rate of
/// the level of the memory hierarchy that holds them. The best of a few rounds.
double measured_read_bandwidth(ThreadPool& pool, int64_t bytes);

}  // namespace hone
