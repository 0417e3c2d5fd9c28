// Convolutions as compute definitions, directly and as products of matrices.
#pragma once

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/windows/padding.h"

namespace hone {

/// conv2d, depthwise_conv2d: data (input) [n,ci,h,w], weight (constant) [co,ci/groups,kh,kw], then the epilogue's
/// inputs: bias (constant) [co], residual (input) [n,co,oh,ow]. Stages `pad` (always there), `conv`, and `out` when
/// there is an epilogue; else `conv` is the output.
/// Where sums are runs in f16 (DTypes): a stage `runs` [run,n,oc,oh,ow] sums each, of whole blocks of `block` input
/// channels or parts of one, and `conv` the runs; of one run, `conv` is that in f16, and a stage `sum` widens it.
Definition convolution(const Workload& w, PadSlack slack = {}, int64_t block = 1);

/// The same for several groups, not in f16: the output channels of each are filled up with zeros to a multiple of
/// `tile`. Stages `weights` [group,oc,ic,kh,kw], which is made ahead; `sums` [n,group,oc,oh,ow], the anchor, and `conv`
/// [n,oc,oh,ow], the sums without padding.
Definition convolution_of_filled_groups(const Workload& w, PadSlack slack, int64_t tile);

/// The same for one group as a product of a matrix of pixels by one of weights. Stages `pad`; `rows` [p,ic,kh,kw], the
/// inputs of the p-th pixel (n, oh, ow in order); `product` [p,oc]; `conv`, and `out` when there is an epilogue.
Definition gemm_convolution(const Workload& w);

/// A depthwise convolution whose kernel is filled up with zeros to words of four columns, in a stage `words`
/// [c,1,kh,kw'] that is made ahead. Its last columns are multiplied by zero wherever they lie: `slack` is that of the
/// tiles alone.
Definition depthwise_convolution_in_words(const Workload& w, PadSlack slack);

/// The common parts of a convolution's definitions by different algorithms: its inputs and padding before, its
/// epilogue after.
struct ConvolutionStages {
  Definition definition;  ///< inputs so far
  Tensor weight;          ///< [co, ci/groups, kh, kw]
  Tensor pad;             ///< stage `pad`: data with its border around, [n, ci, padded h + slack.h, padded w + slack.w]
};
ConvolutionStages begin_convolution(const Workload& w, PadSlack slack);

/// Adds the epilogue's inputs and stage `out` to `conv` [n, co, oh, ow]; without an epilogue `conv` is the output.
Definition finish_convolution(const Workload& w, ConvolutionStages stages, const Tensor& conv);

/// The `border` attribute: the value around the image, a number that the input's type holds; for floats 0 alone. The
/// zero point of quantised images. Optional, since convolutions got it later than their other attributes.
Attribute border_attribute();

/// Operations of a convolution.
double convolution_flops(const Workload& w);

}  // namespace hone
