// How large the bodies are that templates may unroll.
//
// They leave out configs whose code takes LLVM, NVRTC or ptxas too long to compile for its gain. On CPUs, measured
// with all limits at 4096 (one thread, AVX-512, 180 to 500 random configs a workload, c84fc6a): of
// conv2d(ci=128,h=28,w=28,co=128) 13 configs lie beyond, too few to say which side is faster (medians: direct 1.94 ms
// beyond, 2.13 within; Winograd 1.10 and 0.96); the four direct ones take 3.6 times as long to build (median).
// Products, depthwise windows up to 5x5 and reductions do not reach their limits (224, 700 and 128): these are for
// larger windows. Those of GPUs are choices that no measurement stands behind. Changing one changes spaces: raise the
// revisions of the templates that use it.
#pragma once

#include <cstdint>

namespace hone {

/// On CPUs: vector operations (fused multiply-adds, maxima) in the innermost loop, one for each accumulator and
/// unrolled step of the reduction. With the loads of their operands they are up to twice as many instructions; x86's
/// caches of decoded instructions hold 1,536 (Skylake) to 4,096 (Zen 2 on) micro-operations.
inline constexpr int64_t kMostUnrolledProduct = 512;    ///< of matrices: matmul, conv2d_gemm, conv2d_winograd
inline constexpr int64_t kMostUnrolledWindow = 768;     ///< window's taps: conv2d_direct, depthwise, pool
inline constexpr int64_t kMostUnrolledReduction = 128;  ///< fused: memory decides, and few steps hide a sum's latency

/// On GPUs: multiply-adds of one thread in the body that is unrolled. Each is an instruction of 16 bytes (since Volta).
inline constexpr int64_t kMostUnrolledTile = 1024;         ///< product_tile: one tile of k
inline constexpr int64_t kMostUnrolledTileInWindow = 256;  ///< conv2d_gemm_gpu: the same inside the loops over all taps
inline constexpr int64_t kMostUnrolledThreadWindow = 512;  ///< window_tile: outputs of a thread times taps

}  // namespace hone
