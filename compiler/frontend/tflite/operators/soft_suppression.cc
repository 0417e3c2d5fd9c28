#include "compiler/frontend/tflite/operators/soft_suppression.h"

#include <algorithm>
#include <limits>

#include "compiler/frontend/lowering/operators/positions.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

using frontend::Lowering;
using frontend::Operand;

constexpr int64_t kMostSoftSteps = 256;

// Corners of boxes in order, [n, 1] each, and their areas.
struct Sides {
  Operand top, left, bottom, right, area;
};

Sides sides_of(Lowering& l, const Operand& boxes) {
  const int64_t n = boxes.type.shape[0];
  const auto column = [&](int64_t i) { return l.slice(boxes, {0, i}, {1, 1}, {n, 1}); };
  const auto ordered = [&](const char* which, int64_t i) { return l.pointwise(which, {column(i), column(i + 2)}); };
  Sides s{ordered("minimum", 0), ordered("minimum", 1), ordered("maximum", 0), ordered("maximum", 1), {}};
  s.area = l.pointwise("mul", {l.pointwise("sub", {s.bottom, s.top}), l.pointwise("sub", {s.right, s.left})});
  return s;
}

// Intersection over union of each box with one: [n]. 0 where one of the two has no area.
Operand common_parts(Lowering& l, const Sides& all, const Sides& one) {
  const auto length = [&](const Operand& a_end, const Operand& b_end, const Operand& a, const Operand& b) {
    const Operand end = l.pointwise("minimum", {a_end, b_end}), begin = l.pointwise("maximum", {a, b});
    return l.pointwise("maximum", {l.pointwise("sub", {end, begin}), l.number(0, f32)});
  };
  const Operand common = l.pointwise(
      "mul", {length(all.bottom, one.bottom, all.top, one.top), length(all.right, one.right, all.left, one.left)});
  const Operand together = l.pointwise("sub", {l.pointwise("add", {all.area, one.area}), common});
  const Operand has_area = l.pointwise("and", {l.pointwise("greater", {all.area, l.number(0, f32)}),
                                               l.pointwise("greater", {one.area, l.number(0, f32)})});
  const Operand part = l.pointwise("where", {l.pointwise("div", {common, together}), has_area, l.number(0, f32)});
  return l.reshape(part, {part.type.shape[0]});
}

}  // namespace

SoftlyTaken softly_taken(Lowering& l, const Operand& boxes, const Operand& scores, int64_t most, float overlap,
                         float score, float sigma) {
  const int64_t n = boxes.type.shape[0], steps = std::min(most, n);
  HONE_USER_CHECK(steps <= kMostSoftSteps) << most << " boxes whose scores sink; " << kMostSoftSteps << " are the most";
  const Sides all = sides_of(l, boxes);
  const Operand gone = l.number(-std::numeric_limits<double>::infinity(), f32), places = positions_along(l, n, 0, 1);
  const auto number = [&](float v) { return l.number(static_cast<double>(v), f32); };
  Operand left = scores;
  std::vector<Operand> positions, values, valid;
  for (int64_t step = 0; step < steps; ++step) {
    const Operand at = l.add("argmax", {{"axis", "0"}, {"keepdims", "1"}, {"last", "0"}}, {l.value(left)}, Extents{1});
    const auto taken_from = [&](const Operand& x, const Extents& shape) {
      return l.add("gather", {{"axis", "0"}}, {l.value(x), l.value(at)}, shape);
    };
    const Operand best = taken_from(left, {1}), is_valid = l.pointwise("greater", {best, number(score)});
    positions.push_back(l.pointwise("where", {at, is_valid, l.number(0, i64)}));
    values.push_back(l.pointwise("where", {best, is_valid, l.number(0, f32)}));
    valid.push_back(l.cast(is_valid, i64));
    const Operand part = common_parts(l, all, sides_of(l, taken_from(boxes, {1, 4})));
    const Operand decay =
        l.pointwise("exp", {l.pointwise("mul", {l.pointwise("square", {part}), number(-0.5f / sigma)})});
    const Operand itself = l.pointwise("or", {l.pointwise("equal", {places, at}), l.pointwise("equal", {left, gone})});
    const Operand goes = l.pointwise("or", {l.pointwise("greater_equal", {part, number(overlap)}), itself});
    left = l.pointwise("where", {l.broadcast(gone, {n}), goes, l.pointwise("mul", {left, decay})});
  }
  const auto padded = [&](std::vector<Operand> parts, DType t) {
    if (most > steps) parts.push_back(l.filled(0, {t, {most - steps}}));
    return l.concat(parts, 0);
  };
  return {padded(positions, i64), padded(values, f32), l.reshape(l.reduce("sum", l.concat(valid, 0), {0}, false), {1})};
}

}  // namespace hone::tflite
