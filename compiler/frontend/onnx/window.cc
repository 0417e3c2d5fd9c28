#include "compiler/frontend/onnx/window.h"

#include <algorithm>
#include <numeric>

namespace hone::onnx {
namespace {

// Whether an image has one column and the window stays in it: some exporters write sequences so.
bool is_column(const Window& w, const Extents& image) {
  return image.size() == 2 && image[1] == 1 && w.kernel[1] == 1 && w.before[1] == 0 && w.after[1] == 0;
}

}  // namespace

Window steps_of(const NodeContext& c, const Extents& image, const Extents& kernel) {
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

bool make_image(Window* w, const Extents& image) {
  if (image.size() == 2 && !is_column(*w, image)) return false;
  for (Extents* e : {&w->kernel, &w->stride, &w->dilation}) *e = {1, (*e)[0]};
  for (Extents* e : {&w->before, &w->after}) *e = {0, (*e)[0]};
  return true;
}

void require_image(const Operand& x) {
  HONE_USER_CHECK(x.rank() >= 3 && x.rank() <= 5)
      << to_string(x.type) << " has " << static_cast<int>(x.rank()) - 2 << " axes of space; one to three are supported";
}

Operand spread(Lowering& l, const Operand& x, size_t axis, int64_t stride) {
  if (stride == 1) return x;
  const Extents& s = x.type.shape;
  Extents apart = s, whole = s, none(s.size() + 1, 0), after = none;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  after[axis + 1] = stride - 1;
  const Operand stuffed = with_borders(l, l.reshape(x, apart), none, after);
  whole[axis] *= stride;
  Extents size = whole;
  size[axis] -= stride - 1;
  return l.slice(l.reshape(stuffed, whole), Extents(s.size(), 0), Extents(s.size(), 1), size);
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
    const auto d = static_cast<size_t>(NodeContext::axis_of(axes[i], rank));
    all[d] = pads[i];
    all[d + rank] = pads[i + axes.size()];
  }
  return all;
}

Operand with_borders(Lowering& l, const Operand& x, const Extents& before, const Extents& after,
                     const std::string& value) {
  Extents begin(x.rank(), 0), size = x.type.shape, front(x.rank()), behind(x.rank());
  for (size_t d = 0; d < x.rank(); ++d) {
    begin[d] = std::max<int64_t>(0, -before[d]);
    size[d] -= begin[d] + std::max<int64_t>(0, -after[d]);
    front[d] = std::max<int64_t>(0, before[d]);
    behind[d] = std::max<int64_t>(0, after[d]);
    HONE_USER_CHECK(size[d] >= 1) << "pads that leave nothing of " << to_string(x.type) << " are not supported";
  }
  const Operand cut = l.slice(x, begin, Extents(x.rank(), 1), size);
  if (front == Extents(x.rank(), 0) && behind == front) return cut;
  return l.add("pad", {{"before", join(front)}, {"after", join(behind)}, {"mode", "constant"}, {"value", value}},
               {l.value(cut)});
}

AttributeTexts attributes_of(const Window& w) {
  return {{"stride", extents_text(w.stride)},
          {"pad", join({w.before[0], w.before[1], w.after[0], w.after[1]})},
          {"dilation", extents_text(w.dilation)},
          {"layout", "NCHW"}};
}

}  // namespace hone::onnx
