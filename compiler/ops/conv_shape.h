// The numbers of a convolution or a pooling, read from a workload's attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/ops/workload.h"

namespace hone {

/// conv2d, depthwise_conv2d, max_pool2d and avg_pool2d alike; for all but the first ci = co = groups = c.
struct ConvShape {
  int64_t n, ci, h, w, co, kh, kw, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w,
      groups;
  int64_t oh, ow;  ///< of the output; below 1 when the kernel is larger than the padded input
};
ConvShape conv_shape(const Workload& w);

/// What a `layout` attribute fixes. Names as Layout::parse takes them; in "NCHWc" the config chooses the blocks.
struct LayoutChoice {
  bool blocked = false;  ///< channels split into blocks (NCHWc, NCHW16c, NCHW8c:16c)
  int64_t in_block = 0;  ///< 0: the config chooses
  int64_t out_block = 0;
  std::string in, out;  ///< NCHW, NHWC or NCHW16c; for NCHWc both "NCHWc"
};
/// UserError for a layout that conv2d does not know.
LayoutChoice layout_choice(std::string_view text);

}  // namespace hone
