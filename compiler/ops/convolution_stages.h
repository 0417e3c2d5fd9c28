// What the definitions of a convolution by different algorithms have in common: its inputs and padding before, its
// epilogue after.
#pragma once

#include "compiler/ops/definition.h"

namespace hone {

struct ConvolutionStages {
  Definition definition;  ///< inputs so far
  Tensor weight;          ///< [co, ci/groups, kh, kw]
  Tensor pad;             ///< stage `pad`: data with zeros around, [n, ci, padded h + slack.h, padded w + slack.w]
};
ConvolutionStages begin_convolution(const Workload& w, PadSlack slack);

/// Adds the epilogue's inputs and stage `out` to `conv` [n, co, oh, ow]; without an epilogue `conv` is the output.
Definition finish_convolution(const Workload& w, ConvolutionStages stages, const Tensor& conv);

}  // namespace hone
