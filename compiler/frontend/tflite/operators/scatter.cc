// Tensors some of whose elements are written: at positions, and in blocks.
#include "compiler/frontend/lowering/operators/scatter.h"

#include <algorithm>

#include "compiler/frontend/lowering/operators/positions.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

Extents from_axis(const Extents& shape, size_t d) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(d), shape.end()};
}
Extents up_to_axis(const Extents& shape, size_t d) {
  return {shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(d)};
}

void require_positions(const Operand& x) {
  HONE_USER_CHECK(x.type.dtype == i32 || x.type.dtype == i64) << "places " << to_string(x.type);
}

// The shape that an input says.
Extents shape_from(const NodeContext& c, size_t i) {
  const Extents to = c.constant_numbers(i, "shape");
  for (const int64_t e : to) HONE_USER_CHECK(e >= 0) << "shape [" << join(to, ", ") << "]";
  check_axes(to);
  element_count(to);
  return to;
}

// Rows at positions [count, depth] in the first `depth` axes of `base`. The last of equal positions counts, or with
// `sums` all are added.
Operand with_rows(NodeContext& c, const Operand& base, const Operand& positions, const Operand& updates, bool sums) {
  Lowering& l = c.l;
  const auto depth = static_cast<size_t>(positions.type.shape[1]);
  const int64_t count = positions.type.shape[0];
  const Extents outer = up_to_axis(base.type.shape, depth);
  const int64_t rows = element_count(outer), row = element_count(from_axis(base.type.shape, depth));
  if (count == 0 || rows * row == 0) return base;
  if (const auto data = l.data_of(positions)) {
    const std::vector<int64_t> numbers = data->numbers();
    const Extents strides = row_major_strides(outer);
    std::vector<int64_t> target;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      target.push_back(0);
      for (size_t d = 0; d < depth; ++d) {
        const int64_t at = numbers[i * depth + d];
        HONE_USER_CHECK(at >= 0 && at < outer[d])
            << "place " << at << " of axis " << d << " of " << to_string(base.type);
        target.back() += at * strides[d];
      }
    }
    std::vector<int64_t> sorted = target;
    std::sort(sorted.begin(), sorted.end());
    if (!sums || std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end())
      return scattered(l, base, updates, target, "none", row);
  }
  std::vector<Operand> coordinates;
  for (size_t d = 0; d < depth; ++d)
    coordinates.push_back(
        l.reshape(l.slice(l.cast(positions, i64), {0, static_cast<int64_t>(d)}, {1, 1}, {count, 1}), {count}));
  return scattered_rows(l, base, updates, flat_positions(l, coordinates, outer, std::nullopt), rows, row,
                        sums ? "add" : "none");
}

// Zeros, with updates added at their positions.
void scatter_nd(NodeContext& c) {
  const Operand &index = c.in(0), &updates = c.in(1);
  const Extents to = shape_from(c, 2);
  require_positions(index);
  HONE_USER_CHECK(index.rank() >= 1 && index.type.shape.back() >= 1 &&
                  static_cast<size_t>(index.type.shape.back()) <= to.size())
      << "places " << to_string(index.type) << " in [" << join(to, ", ") << "]";
  const auto depth = static_cast<size_t>(index.type.shape.back());
  Extents wanted = up_to_axis(index.type.shape, index.rank() - 1);
  const int64_t count = element_count(wanted);
  const Extents behind = from_axis(to, depth);
  wanted.insert(wanted.end(), behind.begin(), behind.end());
  HONE_USER_CHECK(updates.type.shape == wanted)
      << to_string(updates.type) << " at places " << to_string(index.type) << " in [" << join(to, ", ") << "]";
  HONE_USER_CHECK(!updates.type.dtype.is_bool()) << to_string(updates.type);
  c.outputs[0] = with_rows(c, c.l.filled(0, {updates.type.dtype, to}),
                           c.l.reshape(index, {count, static_cast<int64_t>(depth)}), updates, true);
}

// A number everywhere, but for values at positions: one for all of them, or one for each.
void sparse_to_dense(NodeContext& c) {
  const Operand &index = c.in(0), &values = c.in(2), &other = c.in(3);
  const Extents to = shape_from(c, 1);
  require_positions(index);
  const int64_t count = index.rank() == 0 ? 1 : index.type.shape[0],
                depth = index.rank() == 2 ? index.type.shape[1] : 1;
  HONE_USER_CHECK(index.rank() <= 2 && depth == static_cast<int64_t>(to.size()) &&
                  element_count(other.type.shape) == 1 && other.type.dtype == values.type.dtype &&
                  (values.rank() == 0 || values.type.shape == Extents{count}))
      << to_string(values.type) << " at places " << to_string(index.type) << " in [" << join(to, ", ") << "]";
  const Operand base = c.l.broadcast(c.l.reshape(other, {}), to);
  c.outputs[0] = with_rows(c, base, c.l.reshape(index, {count, depth}), c.l.broadcast(values, {count}), false);
}

// x with a block of it replaced: along each axis what lies in front, the block, and what lies behind.
Operand with_block(Lowering& l, const Operand& x, const Operand& block, const Extents& begin, size_t axis) {
  if (axis == x.rank()) return block;
  const auto part = [&](int64_t from, int64_t to) {
    Extents first(x.rank(), 0), size = x.type.shape;
    first[axis] = from;
    size[axis] = to - from;
    return l.slice(x, first, Extents(x.rank(), 1), size);
  };
  const int64_t end = begin[axis] + block.type.shape[axis];
  return l.concat({part(0, begin[axis]), with_block(l, part(begin[axis], end), block, begin, axis + 1),
                   part(end, x.type.shape[axis])},
                  static_cast<int64_t>(axis));
}

// The same from where a call says: the rows of the block, which end at the last axis that it does not fill.
Operand with_found_block(Lowering& l, const Operand& x, const Operand& block, const Operand& begin) {
  const Extents &s = x.type.shape, &b = block.type.shape;
  size_t depth = x.rank();
  while (depth > 1 && b[depth - 1] == s[depth - 1]) --depth;
  std::vector<Operand> coordinates;
  for (size_t d = 0; d < depth; ++d) {
    const Operand first = l.reshape(l.slice(begin, {static_cast<int64_t>(d)}, {1}, {1}), Extents(depth, 1));
    coordinates.push_back(l.pointwise("add", {positions_along(l, b[d], d, depth), first}));
  }
  coordinates[0] = l.broadcast(coordinates[0], up_to_axis(b, depth));
  const Extents outer = up_to_axis(s, depth);
  return scattered_rows(l, x, block, flat_positions(l, coordinates, outer, std::nullopt), element_count(outer),
                        element_count(from_axis(s, depth)), "none");
}

// A block begins where it still fits.
void dynamic_update_slice(NodeContext& c) {
  const Operand &x = c.in(0), &block = c.in(1), &given = c.in(2);
  const Extents &s = x.type.shape, &b = block.type.shape;
  require_positions(given);
  HONE_USER_CHECK(s.size() == b.size() && x.type.dtype == block.type.dtype &&
                  given.type.shape == Extents{static_cast<int64_t>(s.size())})
      << to_string(block.type) << " from " << to_string(given.type) << " on into " << to_string(x.type);
  Extents most;
  for (size_t d = 0; d < s.size(); ++d) {
    HONE_USER_CHECK(b[d] <= s[d]) << to_string(block.type) << " into " << to_string(x.type);
    most.push_back(s[d] - b[d]);
  }
  if (block.is_empty() || s.empty()) return void(c.outputs[0] = block.is_empty() ? x : block);
  if (const auto known = c.l.data_of(given)) {
    Extents begin = known->numbers();
    for (size_t d = 0; d < s.size(); ++d) begin[d] = std::clamp<int64_t>(begin[d], 0, most[d]);
    return void(c.outputs[0] = with_block(c.l, x, block, begin, 0));
  }
  const Operand begin = c.l.pointwise(
      "minimum", {c.l.pointwise("maximum", {c.l.cast(given, i64), c.l.number(0, i64)}), c.l.numbers(most)});
  c.outputs[0] = with_found_block(c.l, x, block, begin);
}

}  // namespace

void add_scatter_operators(ConverterTable& t) {
  t.own[68] = {&sparse_to_dense, Numbers::kMoved};
  t.own[122] = {&scatter_nd, Numbers::kMoved};
  t.own[151] = {&dynamic_update_slice, Numbers::kMoved};
}

}  // namespace hone::tflite
