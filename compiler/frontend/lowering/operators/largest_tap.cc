#include "compiler/frontend/lowering/operators/largest_tap.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/layout.h"

namespace hone::frontend {
namespace {

// The least number of a type, which borders are.
double least_float(DType t) {
  return t == f16   ? -65504.0
         : t == f64 ? std::numeric_limits<double>::lowest()
                    : static_cast<double>(std::numeric_limits<float>::lowest());
}
int64_t least_integer(DType t) { return t.code == TypeCode::kUInt ? 0 : -(int64_t{1} << (t.bits - 1)); }

// The first tap of each window that lies in the image: [..] behind the windows.
Operand first_taps_inside(Lowering& l, const Window& w, const Extents& image, const Extents& positions) {
  const int64_t taps = element_count(w.kernel);
  const auto is_inside = [&](int64_t position, int64_t tap) {
    for (size_t d = 0; d < image.size(); ++d) {
      const int64_t at = coordinate_of(positions, position, d) * w.stride[d] - w.before[d] +
                         coordinate_of(w.kernel, tap, d) * w.dilation[d];
      if (at < 0 || at >= image[d]) return false;
    }
    return true;
  };
  Extents first;
  for (int64_t p = 0; p < element_count(positions); ++p) {
    int64_t tap = 0;
    while (tap + 1 < taps && !is_inside(p, tap)) ++tap;
    first.push_back(tap);
  }
  return l.reshape(l.numbers(first), positions);
}

}  // namespace

int64_t coordinate_of(const Extents& shape, int64_t at, size_t d) {
  for (size_t e = shape.size(); --e > d;) at /= shape[e];
  return at % shape[d];
}

// Finds the best one of all taps' slices, which lie beside each other.
Operand largest_taps(Lowering& l, const Operand& x, const Window& w, const Extents& shape) {
  const size_t n = w.kernel.size();
  const DType t = x.type.dtype;
  constexpr int64_t kMostTaps = 256;  // each is a layer
  const int64_t taps = element_count(w.kernel);
  HONE_USER_CHECK(taps <= kMostTaps) << "indices of windows of " << taps << " elements; " << kMostTaps
                                     << " are supported";
  Extents before(2, 0), after(2, 0);
  before.insert(before.end(), w.before.begin(), w.before.end());
  after.insert(after.end(), w.after.begin(), w.after.end());
  const Operand padded = with_borders(l, x, before, after,
                                      t.is_float() ? number_text(least_float(t), t) : std::to_string(least_integer(t)));
  std::vector<Operand> slices;
  Extents one = shape;
  one.insert(one.begin(), 1);
  for (int64_t tap = 0; tap < taps; ++tap) {
    Extents begin(2, 0), step(2, 1);
    for (size_t d = 0; d < n; ++d) {
      begin.push_back(coordinate_of(w.kernel, tap, d) * w.dilation[d]);
      step.push_back(w.stride[d]);
    }
    slices.push_back(l.reshape(l.slice(padded, begin, step, shape), one));
  }
  const Extents positions(shape.begin() + 2, shape.end());
  HONE_USER_CHECK(l.may_make(16 * element_count(positions))) << element_count(positions) << " indices";
  const Operand all = l.concat(slices, 0);
  const Operand best = l.add("argmax", {{"axis", "0"}, {"keepdims", "0"}, {"last", "0"}}, {l.value(all)}, shape);
  if (std::all_of(w.before.begin(), w.before.end(), [](int64_t p) { return p == 0; })) return best;
  // Where nothing is larger than the border, the first element that is none of it.
  const Operand first = first_taps_inside(l, w, {x.type.shape.begin() + 2, x.type.shape.end()}, positions);
  const Operand border =
      t.is_float() ? l.number(least_float(t), t) : l.constant(TensorData::of_numbers({least_integer(t)}, t));
  const Operand is_border = l.pointwise("less_equal", {l.reduce("max", all, {0}, false), border});
  return l.pointwise("where", {l.broadcast(first, shape), is_border, best});
}

}  // namespace hone::frontend
