// A stage of a definition as an operator of Hone's, where it is one: a border of zeros, a product, a convolution.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/extents.h"
#include "compiler/te/tensor.h"

namespace hone::frontend {

/// y[i] = x[i - before], and 0 where there is none.
struct BorderStage {
  const BufferNode* x = nullptr;
  Extents before, after;
};
/// Nothing where the stage is none.
std::optional<BorderStage> border_stage(const TensorNode& t);

/// A sum, in the stage's type, of products of elements of two tensors, whose axes are, each in some order:
///
///   x: groups, batch, channels, windows       windows: position * stride + tap * dilation + begin; 0 outside of x
///   w: groups, outputs, channels, taps
///   y: groups, batch, outputs, positions
///
/// Without windows the batch are rows, and it is a product of matrices.
struct ProductStage {
  const BufferNode *x = nullptr, *w = nullptr;
  /// Dimensions of x, of w and of y: those of one kind belong to each other in order.
  struct Dimensions {
    Extents groups, batch, outputs, channels, windows;
  } of_x, of_w, of_y;
  Extents stride, dilation, begin;  ///< by window
};
/// Nothing where the stage is none.
std::optional<ProductStage> product_stage(const TensorNode& t);

}  // namespace hone::frontend
