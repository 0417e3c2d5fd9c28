// Operators as compute definitions on logical tensors.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ops/workload.h"
#include "compiler/te/tensor.h"

namespace hone {

/// A workload written down: its parameters in order, and its stages.
struct Definition {
  std::vector<std::pair<Tensor, ParamRole>> inputs;
  Tensor output;
};

/// Rows and columns of zeros that a template adds below and to the right of a padded input, so that tiles beyond the
/// output read something.
struct PadSlack {
  int64_t h = 0, w = 0;
};

/// conv2d, depthwise_conv2d: data (input) [n,ci,h,w], weight (constant) [co,ci/groups,kh,kw], then the epilogue's
/// inputs: bias (constant) [co], residual (input) [n,co,oh,ow]. Stages `pad` (always there), `conv`, and `out` when
/// there is an epilogue; else `conv` is the output.
Definition convolution(const Workload& w, PadSlack slack = {});

/// The same for one group as a product of a matrix of pixels by one of weights. Stages `pad`; `rows` [p,ic,kh,kw], what
/// the p-th pixel (n, oh, ow in order) is computed from; `product` [p,oc]; `conv`, and `out` when there is an epilogue.
Definition gemm_convolution(const Workload& w);

/// dense: a (input) [m,k], b (constant) [n,k]; batch_matmul: a, b (inputs) [b,m,k], [b,k,n]; then the epilogue's: bias
/// (constant) [n], residual (input), shaped like the output. Stages `matmul`, and `out` when there is an epilogue.
Definition matrix_product(const Workload& w);

/// The same with k cut into `parts` (which divide it): stage `parts` [part, then as `matmul`] sums k / parts products
/// each, `matmul` sums the parts. One part is matrix_product().
Definition split_matrix_product(const Workload& w, int64_t parts);

/// How a pooling reads beyond its input's borders. kPadded: from a stage `pad`, the input with a border of what changes
/// nothing (the lowest value; 0). kNearest: the nearest element of the input instead, which is in the window too: for
/// max_pool2d without dilation only, whose maximum does not change.
enum class PoolBorder : uint8_t { kPadded, kNearest };

/// max_pool2d, avg_pool2d: data (input) [n,c,h,w]. Stages `pad` (kPadded), `pool` (the window's maximum or sum) and, of
/// avg_pool2d, `out`: divided by kh*kw, or with count_include_pad=0 by how many elements of the input the window holds.
/// A window that dilation steps over every element of the input gives the lowest value, or 0.
Definition pooling(const Workload& w, PoolBorder border = PoolBorder::kPadded, PadSlack slack = {});

/// elementwise: x (input) of the shape, then one operand (input) `y1`, `y2`, … for each binary function. One stage a
/// function, the last called `out`.
Definition elementwise(const Workload& w);

/// reduce: data (input). Stages `reduce` and, for op=mean, `out`.
Definition reduction(const Workload& w);

/// Whichever of these the task is.
Definition define(const Workload& w);

/// Input, weight, accumulator and output types of a dtype attribute.
struct DTypes {
  DType in, weight, accumulate, out;
  bool tf32 = false;  ///< f32, of whose factors the first 11 bits of the mantissa count
};
DTypes dtypes_of(const Workload& w);

/// Bytes of all inputs, constants and the output, each counted once: what must move at least when nothing is in a
/// cache.
double tensor_bytes(const Workload& w);

}  // namespace hone
