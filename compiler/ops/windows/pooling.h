// max_pool2d and avg_pool2d: their shape and their compute definitions.
#pragma once

#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {

struct PoolShape : ConvShape {
  ReduceKind kind;         ///< kMax; kSum of an average
  bool count_include_pad;  ///< of an average: divide by kh*kw at the borders, too
};
const PoolShape& pool_shape(const Workload& w);

/// Whether PoolBorder::kNearest gives the same result: for maxima whose windows contain the nearest elements. A
/// prologue may make NaNs (sqrt, log), which a border of the lowest value hides and a second reading of them does not.
bool may_read_nearest(const Workload& w);

/// UserError, one line that begins with the operator's name, for windows larger than the padded input and for such that
/// may hold nothing but padding.
PoolShape pool_shape_of(std::string_view op, const Attributes& a, ReduceKind kind, bool count_include_pad);

/// How a pooling reads beyond its input's borders. kPadded: from a stage `pad`, the input with a border of the neutral
/// value (the lowest value; 0). kNearest: the nearest element of the input instead, which is in the window too: for
/// maxima without dilation only, which it does not change.
enum class PoolBorder : uint8_t { kPadded, kNearest };

/// max_pool2d, avg_pool2d: data (input) [n,c,h,w]. Stages `pad` (kPadded), `pool` (the window's maximum or sum) and, of
/// avg_pool2d, `out`: divided by kh*kw, or with count_include_pad=0 by how many elements of the input the window holds.
/// A window that dilation steps over every element of the input gives the lowest value, or 0.
Definition pooling(const Workload& w, PoolBorder border = PoolBorder::kPadded, PadSlack slack = {});

/// One operation for each element of each window.
double pool_flops(const Workload& w);

}  // namespace hone
