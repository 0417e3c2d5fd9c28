#include "compiler/ops/windows/padding.h"

namespace hone {

Tensor padded_image(const ConvShape& s, const Tensor& data, const Expr& border, PadSlack slack) {
  const int64_t height = s.h + s.pad_top + s.pad_bottom + slack.h, width = s.w + s.pad_left + s.pad_right + slack.w;
  return compute("pad", {s.n, s.ci, height, width}, {"n", "c", "y", "x"}, {data}, [&](const std::vector<Expr>& i) {
    const Expr y = i[2] - s.pad_top, x = i[3] - s.pad_left;
    Expr inside = make_bool(true);
    if (s.pad_top > 0) inside = logical_and(inside, ge(y, int64_t{0}));
    if (height - s.pad_top > s.h) inside = logical_and(inside, lt(y, s.h));
    if (s.pad_left > 0) inside = logical_and(inside, ge(x, int64_t{0}));
    if (width - s.pad_left > s.w) inside = logical_and(inside, lt(x, s.w));
    return select(inside, data.at({i[0], i[1], y, x}), border);
  });
}

}  // namespace hone
