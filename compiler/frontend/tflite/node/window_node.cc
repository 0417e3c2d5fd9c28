#include "compiler/frontend/tflite/node/window_node.h"

#include <algorithm>

#include "compiler/ir/layout.h"

namespace hone::tflite {

Window window_over(const Extents& image, const Extents& kernel, const Extents& stride, const Extents& dilation,
                   int8_t padding) {
  HONE_USER_CHECK(padding == kSame || padding == kValid) << "a padding of kind " << static_cast<int>(padding);
  const size_t axes = kernel.size();
  Window w{kernel, stride, dilation, Extents(axes, 0), Extents(axes, 0)};
  for (size_t d = 0; d < axes; ++d) {
    for (const int64_t v : {kernel[d], stride[d], dilation[d]})
      HONE_USER_CHECK(v >= 1 && v <= kMostOfWindow) << "a kernel, stride or dilation of " << v;
    if (padding == kValid) continue;
    const int64_t out = (image[d] + stride[d] - 1) / stride[d];
    const int64_t all = std::max<int64_t>(0, (out - 1) * stride[d] + (kernel[d] - 1) * dilation[d] + 1 - image[d]);
    w.before[d] = all / 2;
    w.after[d] = all - w.before[d];
  }
  return w;
}

Extents shape_behind(const Window& w, const Extents& planes, int64_t channels) {
  Extents shape{planes[0], channels};
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d] + 1,
                  room = planes[2 + d] + w.before[d] + w.after[d] - reach;
    HONE_USER_CHECK(room >= 0) << "a window of " << reach << " elements along an axis of " << planes[2 + d];
    shape.push_back(room / w.stride[d] + 1);
  }
  return shape;
}

Operand pooled(Lowering& l, const Operand& planes, Window w, bool is_max) {
  const Extents& s = planes.type.shape;
  const Extents shape = shape_behind(w, s, s[1]);
  const bool is_sequence = make_image(&w, {s[2], s[3]});
  AttributeTexts given = attributes_of(w);
  given.insert(given.end(), {{"kh", std::to_string(w.kernel[0])}, {"kw", std::to_string(w.kernel[1])}});
  if (!is_max) given.emplace_back("count_include_pad", "0");
  const Extents seen = is_sequence ? Extents{s[0], s[1], 1, s[2]} : s;
  return l.add(is_max ? "max_pool2d" : "avg_pool2d", given, {l.as(planes, seen)}, shape);
}

std::optional<Operand> bias_of(const NodeContext& c, size_t i, int64_t channels) {
  if (!c.has(i)) return std::nullopt;
  HONE_USER_CHECK(element_count(c.in(i).type.shape) == channels)
      << "a bias " << to_string(c.in(i).type) << " for " << channels << " channels";
  return c.in(i);
}

}  // namespace hone::tflite
