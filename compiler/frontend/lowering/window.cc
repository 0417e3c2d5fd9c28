#include "compiler/frontend/lowering/window.h"

#include <algorithm>

namespace hone::frontend {
namespace {

// Whether an image has one column and the window stays in it: some exporters write sequences so.
bool is_column(const Window& w, const Extents& image) {
  return image.size() == 2 && image[1] == 1 && w.kernel[1] == 1 && w.before[1] == 0 && w.after[1] == 0;
}

}  // namespace

Window part_of(const Window& w, size_t first, size_t count) {
  const auto cut = [&](const Extents& e) {
    const auto begin = e.begin() + static_cast<std::ptrdiff_t>(first);
    return Extents(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  return {cut(w.kernel), cut(w.stride), cut(w.dilation), cut(w.before), cut(w.after)};
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

}  // namespace hone::frontend
