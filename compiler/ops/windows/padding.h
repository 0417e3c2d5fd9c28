// Images with a border, as a stage of their own.
#pragma once

#include "compiler/ops/windows/conv_shape.h"
#include "compiler/te/tensor.h"

namespace hone {

/// Rows and columns that a template adds below and to the right of a padded input, so that tiles beyond the output read
/// something.
struct PadSlack {
  int64_t h = 0, w = 0;
};

/// Stage `pad` [n, ci, padded h + slack.h, padded w + slack.w]: `data` [n, ci, h, w] with `border` around it.
Tensor padded_image(const ConvShape& s, const Tensor& data, const Expr& border, PadSlack slack);

}  // namespace hone
