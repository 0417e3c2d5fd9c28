// Convolutions over three axes of space: [n, d, h, w, c] in a file, computed as [n, c, d, h, w].
#include "compiler/frontend/lowering/operators/volume.h"

#include <algorithm>

#include "compiler/frontend/tflite/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

const Extents kVolumeToPlanes = {0, 4, 1, 2, 3}, kPlanesToVolume = {0, 2, 3, 4, 1};

void require_volumes(const Operand& x, const Operand& weight) {
  HONE_USER_CHECK(x.rank() == 5 && weight.rank() == 5 && !x.is_empty() && !weight.is_empty() && x.type.dtype == f32)
      << "weight " << to_string(weight.type) << " of " << to_string(x.type);
}

Window window_over_volume(const NodeContext& c, const Extents& volume, const Extents& weight) {
  return window_over(volume, {weight[0], weight[1], weight[2]},
                     {c.option(&file::Conv3DOptions::stride_d), c.option(&file::Conv3DOptions::stride_h),
                      c.option(&file::Conv3DOptions::stride_w)},
                     {c.option(&file::Conv3DOptions::dilation_d, 1), c.option(&file::Conv3DOptions::dilation_h, 1),
                      c.option(&file::Conv3DOptions::dilation_w, 1)},
                     c.option(&file::Conv3DOptions::padding));
}

void set_volume(NodeContext& c, const Operand& planes) {
  c.outputs[0] = c.l.transpose(activated(c.l, planes, c.option(&file::Conv3DOptions::activation)), kPlanesToVolume);
}

// Weights [kd, kh, kw, ci / groups, co].
void conv_of_volume(NodeContext& c) {
  const Operand &x = c.in(0), &weight = c.in(1);
  require_volumes(x, weight);
  const Extents &s = x.type.shape, &k = weight.type.shape;
  HONE_USER_CHECK(s[4] % k[3] == 0 && k[4] % (s[4] / k[3]) == 0)
      << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const Window w = window_over_volume(c, {s[1], s[2], s[3]}, k);
  const Operand planes = c.l.turned(x, kVolumeToPlanes);
  set_volume(c, convolution_of_volumes(c.l, planes, c.l.turned(weight, {4, 3, 0, 1, 2}), bias_of(c, 2, k[4]), w,
                                       shape_behind(w, planes.type.shape, k[4])));
}

// Weights [kd, kh, kw, co, ci]. Each element is written to where a convolution over a volume of the output's extents
// would read it.
void transposed_conv_of_volume(NodeContext& c) {
  const Operand &weight = c.in(1), &x = c.in(2);
  require_volumes(x, weight);
  const Extents to = c.constant_numbers(0, "output shape");
  const Extents &s = x.type.shape, &k = weight.type.shape;
  HONE_USER_CHECK(k[4] == s[4]) << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  HONE_USER_CHECK(to.size() == 5 && to[0] == s[0] && to[4] == k[3])
      << "an output shape of [" << join(to, ", ") << "] for weight " << to_string(weight.type) << " of "
      << to_string(x.type);
  for (size_t d = 1; d < 4; ++d)
    HONE_USER_CHECK(to[d] >= 1 && to[d] <= kMostOfWindow) << "an output of " << to[d] << " elements";
  const Window w = window_over_volume(c, {to[1], to[2], to[3]}, k);
  std::vector<TransposedAxis> axes;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d] + 1;
    axes.push_back({s[1 + d], std::max(reach, w.stride[d]), w.stride[d], w.before[d], to[1 + d]});
  }
  set_volume(c,
             transposed_convolution_of_volumes(c.l, c.l.turned(x, kVolumeToPlanes), c.l.turned(weight, {4, 3, 0, 1, 2}),
                                               bias_of(c, 3, k[3]), w, axes, 1));
}

}  // namespace

void add_volume_operators(ConverterTable& t) {
  t.own[132] = {&conv_of_volume};
  t.own[141] = {&transposed_conv_of_volume};
}

}  // namespace hone::tflite
