// The operators that come with Hone, as types: code that looks for one compares with these.
//
//   if (is<ops::Conv2d, ops::DepthwiseConv2d>(n.workload)) …
#pragma once

#include <string_view>

#include "compiler/ops/workload.h"

namespace hone {

/// One type for each row of standard_operators() that code asks for; `kName` is the row's name.
namespace ops {

struct Conv2d {
  static constexpr std::string_view kName = "conv2d";
};
struct DepthwiseConv2d {
  static constexpr std::string_view kName = "depthwise_conv2d";
};
struct Dense {
  static constexpr std::string_view kName = "dense";
};
struct DenseNbits {
  static constexpr std::string_view kName = "dense_nbits";
};
struct BatchMatmul {
  static constexpr std::string_view kName = "batch_matmul";
};
struct MaxPool2d {
  static constexpr std::string_view kName = "max_pool2d";
};
struct AvgPool2d {
  static constexpr std::string_view kName = "avg_pool2d";
};
struct Elementwise {
  static constexpr std::string_view kName = "elementwise";
};
struct Reduce {
  static constexpr std::string_view kName = "reduce";
};
struct Transpose {
  static constexpr std::string_view kName = "transpose";
};
struct Reshape {
  static constexpr std::string_view kName = "reshape";
};
struct Broadcast {
  static constexpr std::string_view kName = "broadcast";
};
struct Concat {
  static constexpr std::string_view kName = "concat";
};
struct Slice {
  static constexpr std::string_view kName = "slice";
};
struct DepthToSpace {
  static constexpr std::string_view kName = "depth_to_space";
};
struct SpaceToDepth {
  static constexpr std::string_view kName = "space_to_depth";
};
struct Pad {
  static constexpr std::string_view kName = "pad";
};
struct Gather {
  static constexpr std::string_view kName = "gather";
};
struct GatherElements {
  static constexpr std::string_view kName = "gather_elements";
};
struct GatherNd {
  static constexpr std::string_view kName = "gather_nd";
};
struct Scatter {
  static constexpr std::string_view kName = "scatter";
};
struct ScatterRows {
  static constexpr std::string_view kName = "scatter_rows";
};
struct Lookup {
  static constexpr std::string_view kName = "lookup";
};
struct Resize {
  static constexpr std::string_view kName = "resize";
};
struct Softmax {
  static constexpr std::string_view kName = "softmax";
};
struct Argmax {
  static constexpr std::string_view kName = "argmax";
};
struct TopK {
  static constexpr std::string_view kName = "top_k";
};
struct Require {
  static constexpr std::string_view kName = "require";
};
struct Attention {
  static constexpr std::string_view kName = "attention";
};
struct CachedAttention {
  static constexpr std::string_view kName = "cached_attention";
};

}  // namespace ops

/// Whether the workload is of one of these operators.
template <class... Ops>
bool is(const Workload& w) {
  const std::string_view name = w.operator_name();
  return ((name == Ops::kName) || ...);
}

}  // namespace hone
