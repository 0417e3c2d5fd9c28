// Workloads of the kernel benchmark: the shapes of the TVM paper's Table 2, MobileNet's depthwise layers, products of
// ResNet and BERT; and random ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ops/workload.h"

namespace hone::bench {

struct NamedWorkload {
  std::string name;  ///< C6, D1, M4, B2, P1, E1, S1; R1, R2, … for random ones
  Workload workload;
};

/// C1-C12, D1-D9, M1-M4, B1-B3: fp32, batch 1, padded to the same size. P1-P6 (pooling), E1-E6 (elementwise), S1-S6
/// (reductions): fp32.
std::vector<NamedWorkload> fixed_workloads();

/// Those that are sums of products, of u8 by s8 in s32: products give these sums, convolutions are scaled and rounded
/// to u8, as quantised models have them.
std::vector<NamedWorkload> of_bytes(const std::vector<NamedWorkload>& workloads);

/// The same convolution with the channels of its input filled up to words of four bytes, as the graph compiler fills
/// them with zeros; other workloads as they are.
Workload with_whole_words(const Workload& w);

/// Those that are sums of products and have kernels for it, of bf16 in f32.
std::vector<NamedWorkload> of_bf16(const std::vector<NamedWorkload>& workloads);

/// `count` legal workloads of all tasks, determined by the seed: channels that are no powers of two, odd sizes,
/// strides, dilations among them. None takes more than about 2 GFLOP.
std::vector<NamedWorkload> random_workloads(int count, uint64_t seed);

/// Pooling, elementwise, reductions: bound by memory, not by the peak of arithmetic.
bool is_memory_bound(const Workload& w);

}  // namespace hone::bench
