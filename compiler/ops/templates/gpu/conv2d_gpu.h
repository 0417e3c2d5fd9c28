// The algorithms that conv2d_gpu chooses from. Each declares its knobs and constraints, and applies them when
// `schedule` is not null.
#pragma once

#include <memory>
#include <string>

#include "compiler/ops/definition.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/workload.h"

namespace hone {

/// A convolution as a matrix product, before it is tiled: pixels are one loop, the sum is in registers, its operands
/// are in shared memory.
struct ConvProduct {
  Definition definition;
  BlockRef writer, product, rows, weight;
  LoopRef pixels, channels;  ///< the writer's
};
/// Makes `*schedule`; `channels_first`: channels are the outer of the writer's two loops.
ConvProduct begin_conv_product(const Workload& w, bool channels_first, std::unique_ptr<Schedule>* schedule);

/// Implicit GEMM: pixels by output channels, staged in shared memory. For one group only.
void conv2d_gemm_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
/// Winograd, F(m x m, 3 x 3) with m 2 or 4, where winograd_applies().
void conv2d_winograd_gpu(const Workload& w, const Target& target, int m, Knobs& knobs,
                         std::unique_ptr<Schedule>* schedule);
/// Implicit GEMM on tensor cores, where tensor_cores_apply().
void conv2d_tensor_core_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
/// Whether the target has tensor cores for the workload's types, the channels are whole steps of their k, and there is
/// one group.
bool tensor_cores_apply(const Workload& w, const Target& target);
/// Each thread a few outputs, straight from memory. conv2d with any groups, depthwise_conv2d.
void conv2d_direct_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
