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

/// The same where window and channels are one axis k, of channels within columns within rows of the window, filled up
/// with zeros to a multiple of `depth`: `rows` [p,k], and `columns` [oc,k], which is to be made ahead, in place of the
/// weights.
Definition convolution_of_filled_pixels(const Workload& w, int64_t depth);

/// The same for one group where rows of the window are read from rows of the image, pixel behind pixel: the sums run
/// over `segments` of `run` elements each, a row of the window or, of a dilated one, a pixel of it.
struct ImageRows {
  int64_t channels;       ///< of a pixel, zeros behind the input's: what follows a segment meets weights of zero
  int64_t run, segments;  ///< elements; the window's
  int64_t height, width;  ///< of the sums, at least those of the output
};
/// Those whose runs are multiples of `depth`. Where 0 times what follows is not 0 (floats), nothing does.
ImageRows image_rows(const Workload& w, int64_t depth, int64_t height, int64_t width);
/// Stages `image` [n,y,e], the padded input's rows of pixels of channels; `columns` [oc,k], k of runs in segments,
/// which is to be made ahead; `product` [n,y,x,oc]; `conv`, and `out` when there is an epilogue.
Definition convolution_of_image_rows(const Workload& w, const ImageRows& rows);

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
