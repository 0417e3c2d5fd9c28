// Axes whose new elements are sums of a few old ones, with weights that are known while a model is read.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// How the elements of one axis are computed, in the words of ONNX's Resize: its attributes, the axis's scale and its
/// extents.
struct Resampling {
  std::string mode, coordinates, rounding;
  double scale = 1;
  int64_t in = 1, out = 1;
  bool is_antialiased = false;    ///< a filter as wide as the elements that a new one stands for, when there are fewer
  bool excludes_outside = false;  ///< elements beyond the axis have no weight; else they are its first or last one
  double cubic = -0.75;           ///< Keys's coefficient
  double begin = 0, end = 1;      ///< of the part that is resized, from 0 to 1
};

/// The weights of one new element: it is the sum of old elements from `first` on, times these weights.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
  bool is_outside = false;  ///< beyond the axis, where a part of it is resized
};
/// The taps of each new element, in order. UserError for attributes that ONNX does not know.
std::vector<Taps> taps_of(const Resampling& how);

/// `x` with an element for each of `taps` along `axis`. Floats, or any type where each tap is one element.
Operand resampled(Lowering& l, const Operand& x, size_t axis, const std::vector<Taps>& taps);

}  // namespace hone::frontend
