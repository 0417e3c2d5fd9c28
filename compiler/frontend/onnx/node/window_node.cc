#include "compiler/frontend/onnx/node/window_node.h"

#include <numeric>

namespace hone::onnx {

Window strides_of(const NodeContext& c, const Extents& image, const Extents& kernel) {
  const size_t n = image.size();
  Window w{kernel, c.numbers("strides").value_or(Extents(n, 1)), c.numbers("dilations").value_or(Extents(n, 1)),
           Extents(n, 0), Extents(n, 0)};
  HONE_USER_CHECK(kernel.size() == n && w.stride.size() == n && w.dilation.size() == n)
      << "kernel [" << join(kernel, ", ") << "] with strides [" << join(w.stride, ", ") << "] and dilations ["
      << join(w.dilation, ", ") << "] for " << n << " axes";
  for (size_t d = 0; d < n; ++d)
    for (const int64_t v : {kernel[d], w.stride[d], w.dilation[d]})
      HONE_USER_CHECK(v >= 1 && v <= kMostOfWindow) << "a kernel, stride or dilation of " << v;
  return w;
}

Extents pads_of(const NodeContext& c) {
  const size_t rank = c.in(0).rank();
  const Extents pads = c.opset >= 11 ? c.constant_numbers(1, "pads") : c.numbers("pads").value_or(Extents{});
  Extents axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.opset >= 18 && c.has(3)) axes = c.constant_numbers(3, "axes");
  HONE_USER_CHECK(pads.size() == 2 * axes.size())
      << "it has " << pads.size() << " pads for " << axes.size() << " axes of " << to_string(c.in(0).type);
  Extents all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axis_of(axes[i], rank));
    all[d] = pads[i];
    all[d + rank] = pads[i + axes.size()];
  }
  return all;
}

}  // namespace hone::onnx
