// Operators whose outputs are as long as the inputs' elements say.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/lowering/operators/suppression.h"
#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// x with the run-time extent of `other` along `axis`.
Operand as_many(Operand x, size_t axis, const Operand& other) {
  if (other.ragged) x.ragged = Ragged{axis, other.ragged->count};
  return x;
}

// s64 [rank, n]: the coordinates of positions in a tensor of this shape.
Operand coordinates(Lowering& l, const Operand& positions, const Extents& shape) {
  if (positions.is_empty()) return {kNoValue, {i64, {static_cast<int64_t>(shape.size()), 0}}};
  std::vector<Operand> rows;
  for (const Operand& along : coordinates_of(l, positions, shape))
    rows.push_back(l.reshape(along, {1, positions.type.shape[0]}));
  return as_many(l.concat(rows, 0), 1, positions);
}

void nonzero(NodeContext& c) {
  const Operand& x = c.in(0);
  const Extents shape = x.type.shape.empty() ? Extents{1} : x.type.shape;
  if (x.is_empty()) return void(c.outputs[0] = {kNoValue, {i64, {static_cast<int64_t>(x.rank()), 0}}});
  Operand mask = whole(x);
  if (!mask.type.dtype.is_bool())
    mask = c.l.reshape(c.l.once({kComparison, mask.id},
                                [&] {
                                  return c.l.pointwise("not_equal", {whole(x), c.l.number(0, x.type.dtype)});
                                }),
                       x.type.shape);
  mask.ragged = x.ragged;
  c.outputs[0] = coordinates(c.l, positions_of_true(c.l, mask), shape);
}

void compress(NodeContext& c) {
  Operand x = c.in(0);
  const Operand& condition = c.in(1);
  HONE_USER_CHECK(condition.rank() == 1 && condition.type.dtype.is_bool()) << "condition " << to_string(condition.type);
  const Attribute* given = c.find("axis");
  if (!given) {
    const auto& shape = x.type.shape;
    HONE_USER_CHECK(!x.ragged ||
                    element_count({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(x.ragged->axis)}) == 1)
        << "the extent of an axis behind the first is known only when it runs";
    x = c.l.reshape(x, {element_count(shape)});
  }
  const int64_t axis = given ? axis_of(given->i(), x.rank()) : 0;
  const auto d = static_cast<size_t>(axis);
  HONE_USER_CHECK(condition.type.shape[0] <= x.type.shape[d])
      << to_string(condition.type) << " of " << to_string(x.type);
  Extents shape = x.type.shape;
  const auto gathered = [&](const Operand& positions) {
    shape[d] = positions.type.shape[0];
    if (positions.is_empty() || x.is_empty()) return Operand{kNoValue, {x.type.dtype, shape}};
    return c.l.add("gather", {{"axis", std::to_string(axis)}}, {c.l.value(x), c.l.value(positions)}, shape);
  };
  const Operand positions = positions_of_true(c.l, condition);
  c.outputs[0] = as_many(gathered(positions), d, positions);
  if (!x.ragged || x.ragged->axis == d) return;
  HONE_USER_CHECK(!positions.ragged) << "two extents are known only when it runs";
  c.outputs[0].ragged = x.ragged;
}

// s64[1], at most `most`, of an input that may be left out.
Operand most_of(NodeContext& c, size_t i, int64_t fallback) {
  if (!c.has(i)) return c.l.numbers({fallback});
  return c.l.reshape(c.l.cast(whole(c.in(i)), i64), {1});
}

void non_max_suppression(NodeContext& c) {
  const Operand &boxes = c.in(0), &scores = c.in(1);
  HONE_USER_CHECK(boxes.rank() == 3 && scores.rank() == 3 && boxes.type.shape[2] == 4 &&
                  boxes.type.shape[0] == scores.type.shape[0] && boxes.type.shape[1] == scores.type.shape[2])
      << "boxes " << to_string(boxes.type) << " and scores " << to_string(scores.type);
  for (const auto& [x, axis] : {std::pair(&boxes, size_t{1}), {&scores, size_t{2}}})
    HONE_USER_CHECK(!x->ragged || x->ragged->axis == axis)
        << "how many batches or classes it has is known only when it runs";
  const int64_t n = boxes.type.shape[1];
  // Nothing is taken where it is not said how many are.
  HONE_USER_CHECK(!c.has(2) || (element_count(c.in(2).type.shape) == 1 && c.in(2).type.dtype.is_integer()))
      << "max_output_boxes_per_class is " << to_string(c.in(2).type) << "; one whole number is meant";
  std::optional<TensorData> given = c.has(2) ? c.in(2).known ? c.in(2).known : c.l.data_of(c.in(2)) : std::nullopt;
  const int64_t most = !c.has(2) ? 0 : given ? std::clamp<int64_t>(given->numbers()[0], 0, n) : n;
  if (most == 0 || boxes.is_empty() || scores.is_empty()) return void(c.outputs[0] = {kNoValue, {i64, {0, 3}}});
  const auto threshold = [&](size_t i, double fallback) {
    const Operand x = c.has(i) ? c.l.cast(c.in(i), f32) : c.l.number(fallback, f32);
    return c.l.as(x, {1});
  };
  const Operand& counted = boxes.ragged ? boxes : scores;
  const ValueId there = counted.ragged ? counted.ragged->count : c.l.value(c.l.numbers({n}));
  const TakenBoxes taken = taken_boxes(c.l, whole(boxes), whole(scores),
                                       {there, c.l.value(most_of(c, 2, 0)), most, c.number("center_point_box", 0) != 0,
                                        threshold(3, 0), threshold(4, std::numeric_limits<double>::quiet_NaN())});
  c.outputs[0] = with_extent(c.l, taken.rows, 0, taken.count);
}

void unique(NodeContext& c) {
  Operand x = c.in(0);
  HONE_USER_CHECK(!x.is_empty()) << to_string(x.type) << " has no elements";
  const Attribute* given = c.find("axis");
  const size_t rank = x.rank();
  const auto axis = given ? static_cast<size_t>(axis_of(given->i(), rank)) : 0;
  HONE_USER_CHECK(!x.ragged || (given ? x.ragged->axis == axis : rank == 1))
      << "the extent of another axis is known only when it runs";
  const ValueId there =
      x.ragged ? x.ragged->count : c.l.value(c.l.numbers({given ? x.type.shape[axis] : element_count(x.type.shape)}));
  x = whole(x);
  // The compared slices become the first axis.
  if (!given) {
    x = c.l.reshape(x, {element_count(x.type.shape)});
  } else {
    Extents perm{static_cast<int64_t>(axis)};
    for (size_t d = 0; d < rank; ++d)
      if (d != axis) perm.push_back(static_cast<int64_t>(d));
    x = c.l.transpose(x, perm);
  }
  const int64_t n = x.type.shape[0], m = element_count(x.type.shape) / n;
  const std::vector<ValueId> made =
      c.l.b.add("unique", {{"sorted", c.number("sorted", 1) ? "1" : "0"}}, {c.l.as(x, {n, m}), there});
  const Operand first{made[0], {i64, {n}}};
  Operand kept = c.l.add("gather", {{"axis", "0"}}, {c.l.value(x), c.l.value(first)}, x.type.shape);
  if (given) {
    Extents back;
    for (size_t d = 0; d < rank; ++d) back.push_back(static_cast<int64_t>(d < axis ? d + 1 : d == axis ? 0 : d));
    kept = c.l.transpose(kept, back);
  }
  const Operand outputs[] = {with_extent(c.l, kept, given ? axis : 0, made[3]), with_extent(c.l, first, 0, made[3]),
                             with_extent(c.l, {made[1], {i64, {n}}}, 0, there),
                             with_extent(c.l, {made[2], {i64, {n}}}, 0, made[3])};
  for (size_t o = 0; o < c.outputs.size() && o < 4; ++o) c.outputs[o] = outputs[o];
}

}  // namespace

void add_selection_operators(ConverterTable& t) {
  t[":NonZero"] = &nonzero;
  t[":Compress"] = &compress;
  t[":NonMaxSuppression"] = &non_max_suppression;
  t[":Unique"] = &unique;
}

}  // namespace hone::onnx
