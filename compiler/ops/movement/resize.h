// resize: where elements of a resized tensor come from, in exact numbers.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

/// An axis of a resize: element `i` of the output lies at (step * i + offset) / divisor in the input. The fraction is
/// reduced; where the divisor is 1 every element lies at one of the input's.
struct ResizedAxis {
  int64_t in = 1, out = 1;
  int64_t step = 1, offset = 0, divisor = 1;
};

enum class ResizeMode { kNearest, kLinear, kCubic };

struct ResizeShape {
  ResizeMode mode = ResizeMode::kNearest;
  std::vector<ResizedAxis> axes;
  std::string rounding;           ///< of coordinates to the nearest element: floor, ceil, round_prefer_floor or _ceil
  double coefficient = -0.75;     ///< of cubic: ONNX's cubic_coeff_a
  bool excludes_outside = false;  ///< of cubic: elements outside have no weight, and the others' sum is 1
};
const ResizeShape& resize_shape(const Workload& w);

/// resize: x (input). Nearest: one stage, `out`. Linear and cubic: one stage for each axis along which elements lie
/// between the input's, from the last axis on, `axis3`, …, the last stage called `out`; all in f32 (f64 for f64) and
/// converted once.
Definition resized(const Workload& w);

}  // namespace hone
