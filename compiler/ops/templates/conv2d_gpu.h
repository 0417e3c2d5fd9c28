// What conv2d_gpu chooses between. Each declares its knobs and constraints, and applies them when `schedule` is not
// null.
#pragma once

#include <memory>
#include <string>

#include "compiler/ops/definition.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/workload.h"

namespace hone {

/// A convolution as a product, before it is cut into tiles: pixels are one loop, the sum is in registers, what it reads
/// in shared memory.
struct ConvProduct {
  Definition definition;
  BlockRef writer, product, rows, weight;
  LoopRef pixels, channels;  ///< the writer's
};
/// Makes `*schedule`; `channels_first`: they are the outer of the writer's two loops.
ConvProduct begin_conv_product(const Workload& w, bool channels_first, std::unique_ptr<Schedule>* schedule);

/// Implicit GEMM: pixels by output channels, staged in shared memory. For one group only.
void conv2d_gemm_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
/// F(m x m, 3 x 3), m 2 or 4: of what winograd_applies() says.
void conv2d_winograd_gpu(const Workload& w, const Target& target, int m, Knobs& knobs,
                         std::unique_ptr<Schedule>* schedule);
/// Implicit GEMM on tensor cores, where matrix_units_apply().
void conv2d_units_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
/// Whether the target has such units for the workload's types, its channels are whole steps of theirs, and there is one
/// group.
bool matrix_units_apply(const Workload& w, const Target& target);
/// Each thread a few outputs, straight from memory. conv2d with any groups, depthwise_conv2d.
void conv2d_direct_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
