// How tensors lie in memory around a workload whose `layout` fixes blocks: NCHW8c:16c, but not NCHWc, where the config
// chooses them.
#pragma once

#include <vector>

#include "compiler/ir/layout.h"
#include "compiler/ops/infer.h"

namespace hone {

/// The types around a workload as its kernels have them: images in the blocks of its `layout`, everything else (and
/// blocks of 1) row-major as it is. Inputs in the order of the definition, then outputs.
struct PhysicalTypes {
  struct Tensor {
    TensorType logical;
    Layout layout;    ///< of the logical tensor; row-major without blocks
    TensorType type;  ///< as it lies in memory: f32[1, 4, 56, 56, 16]
  };
  std::vector<Tensor> inputs, outputs;
};
PhysicalTypes physical_types(const Workload& w);

}  // namespace hone
