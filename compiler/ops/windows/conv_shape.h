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
  bool depthwise;  ///< each channel by itself: depthwise_conv2d and poolings

  /// How far a window reaches, dilation included.
  int64_t reach_h() const { return dilation_h * (kh - 1) + 1; }
  int64_t reach_w() const { return dilation_w * (kw - 1) + 1; }
};
const ConvShape& conv_shape(const Workload& w);

/// n, channels, rows and columns of the output.
std::vector<int64_t> output_shape(const ConvShape& s);

/// From the attributes that all four have; conv2d's channels and groups, or the one number of channels.
ConvShape conv_shape_of(const Attributes& a, int64_t ci, int64_t co, int64_t groups);
ConvShape depthwise_shape_of(const Attributes& a, int64_t channels);

/// UserError, one line that begins with the operator's name, where `what` (the kernel, the window) is larger than the
/// padded input, or a tensor has more elements than any may have.
void check_conv_shape(std::string_view op, std::string_view what, const ConvShape& s);

/// The parsed `layout` attribute. Names as Layout::parse takes them; in "NCHWc" the config chooses the blocks.
struct LayoutChoice {
  bool blocked = false;  ///< channels split into blocks (NCHWc, NCHW16c, NCHW8c:16c)
  int64_t in_block = 0;  ///< 0: the config chooses
  int64_t out_block = 0;
  std::string in, out;  ///< NCHW, NHWC or NCHW16c; for NCHWc both "NCHWc"
};
const LayoutChoice& layout_of(const Workload& w);

/// The `layout` attribute. Value: LayoutChoice. `one_block`: input and output have the same.
AttributeParser layout_choice(bool one_block);

}  // namespace hone
