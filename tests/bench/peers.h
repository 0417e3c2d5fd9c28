// Libraries that the kernel benchmark compares with: each makes runnable calls for a workload, on tensors of its own,
// in its own layouts.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/workload.h"
#include "tests/bench/contenders.h"

namespace hone::bench {

/// oneDNN: for convolutions `onednn_direct`, `onednn_auto` and, where it has one, `onednn_winograd`; for the others
/// `onednn`. All layouts are its own choice, but a batch_matmul's, whose operands both arrive at run time, a
/// pooling's (nChw16c where that is the workload's choice) and of operators on plain tensors: single functions of
/// elementwise, and reductions. Products and convolutions of f32, of bf16 in f32, and of u8 by s8: products in s32,
/// convolutions scaled and rounded to u8. Empty for workloads that it lacks, or has only in its reference
/// implementation.
std::vector<Contender> onednn_contenders(const Workload& w, int threads);

/// ONNX Runtime, from the library at `library`: `onnxrt`. Products and convolutions of u8 by s8: MatMulInteger, and
/// QLinearConv with one scale, from planes to planes. Empty for workloads that it lacks, and without the library.
std::vector<Contender> onnxruntime_contenders(const Workload& w, int threads, const std::string& library);

/// OpenBLAS: `openblas`, sgemm, for dense and batch_matmul in fp32.
std::vector<Contender> openblas_contenders(const Workload& w, int threads);
/// Which processor's kernels it runs, in its own word: SkylakeX.
std::string openblas_kernels();

}  // namespace hone::bench
