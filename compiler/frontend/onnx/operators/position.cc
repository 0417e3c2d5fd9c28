// Operators whose elements depend on where they stand: triangles, diagonals, one-hot, running sums.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/lowering/operators/positions.h"
#include "compiler/frontend/lowering/operators/scatter.h"
#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// [rows, columns] of bools: is(row, column).
template <class F>
Operand mask_of(Lowering& l, int64_t rows, int64_t columns, const F& is) {
  HONE_USER_CHECK(l.may_make(element_count({rows, columns}))) << "a mask of " << rows << " x " << columns;
  std::string bytes;
  bytes.reserve(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) bytes += is(r, c) ? '\1' : '\0';
  return l.constant(TensorData({boolean, {rows, columns}}, std::move(bytes)));
}

// x where the mask holds, else 0.
Operand kept_where(Lowering& l, const Operand& mask, const Operand& x) {
  return x.type.dtype.is_bool() ? l.pointwise("and", {x, l.broadcast(mask, x.type.shape)})
                                : l.pointwise("where", {x, mask, l.number(0, x.type.dtype)});
}

void triangle(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 2) << to_string(x.type);
  const int64_t given = c.has(1) ? c.constant_number(1, "k") : 0;
  const bool upper = c.number("upper", 1) != 0;
  if (x.is_empty()) return void(c.outputs[0] = x);
  const int64_t rows = x.type.shape[x.rank() - 2], columns = x.type.shape.back(),
                k = std::clamp<int64_t>(given, -rows, columns);
  const auto keeps = [&](int64_t row, int64_t column) { return upper ? column - row >= k : column - row <= k; };
  c.outputs[0] = kept_where(c.l, mask_of(c.l, rows, columns, keeps), x);
}

void eye_like(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() == 2 && !x.is_empty()) << to_string(x.type);
  const int64_t k = std::clamp<int64_t>(c.number("k", 0), -x.type.shape[0], x.type.shape[1]);
  const DType t = c.find("dtype") ? dtype_of(static_cast<int>(c.number("dtype", 1)), "") : x.type.dtype;
  const Operand mask =
      mask_of(c.l, x.type.shape[0], x.type.shape[1], [&](int64_t row, int64_t column) { return column - row == k; });
  c.outputs[0] = c.l.cast(mask, t);
}

void one_hot(NodeContext& c) {
  Operand index = c.l.cast(c.in(0), i64);
  const std::vector<double> given = c.constant(1, "depth").values();
  HONE_USER_CHECK(given.size() == 1 && given[0] >= 1 && given[0] < 0x1p32)
      << "a depth of " << (given.empty() ? 0 : given[0]);
  const auto depth = static_cast<int64_t>(given[0]);
  const Operand& values = c.in(2);
  HONE_USER_CHECK(values.rank() == 1 && values.type.shape[0] == 2)
      << "depth " << depth << ", values " << to_string(values.type) << ", indices " << to_string(index.type);
  const size_t rank = index.rank() + 1;
  const auto axis = static_cast<size_t>(axis_of(c.number("axis", -1), rank));
  Extents shape = index.type.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), index.is_empty() ? depth : 1);
  if (index.is_empty()) return void(c.outputs[0] = {kNoValue, {values.type.dtype, shape}});
  index = c.l.reshape(index, shape);
  const auto from_end = "add[" + number_text(static_cast<double>(depth), i64) + "]";
  index = c.l.pointwise("where",
                        {c.l.pointwise(from_end, {index}), c.l.pointwise("less", {index, c.l.number(0, i64)}), index});
  const Operand is_hot = c.l.pointwise("equal", {index, positions_along(c.l, depth, axis, rank)});
  const auto value = [&](int64_t i) { return c.l.reshape(c.l.slice(values, {i}, {1}, {1}), {}); };
  const DType t = values.type.dtype;
  if (t.is_bool()) {
    const Operand on = c.l.pointwise("and", {is_hot, c.l.broadcast(value(1), is_hot.type.shape)});
    const Operand off =
        c.l.pointwise("and", {c.l.pointwise("not", {is_hot}), c.l.broadcast(value(0), is_hot.type.shape)});
    return void(c.outputs[0] = c.l.pointwise("or", {on, off}));
  }
  c.outputs[0] = c.l.pointwise("where", {value(1), is_hot, value(0)});
}

// 1 where the first of the largest elements is, else 0; up to opset 12 the axes from `axis` on are one.
void hardmax(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t given = axis_of(c.number("axis", c.opset < 13 ? 1 : -1), x.rank());
  const auto at = x.type.shape.begin() + given;
  const Operand rows =
      c.opset < 13
          ? c.l.reshape(x, {element_count({x.type.shape.begin(), at}), element_count({at, x.type.shape.end()})})
          : x;
  const auto axis = static_cast<size_t>(c.opset < 13 ? 1 : given);
  Extents shape = rows.type.shape;
  shape[axis] = 1;
  const Operand best =
      c.l.add("argmax", {{"axis", std::to_string(axis)}, {"keepdims", "1"}, {"last", "0"}}, {c.l.value(rows)}, shape);
  const Operand is_best =
      c.l.pointwise("equal", {best, positions_along(c.l, rows.type.shape[axis], axis, rows.rank())});
  c.outputs[0] = c.l.reshape(c.l.cast(is_best, x.type.dtype), x.type.shape);
}

// x moved by `by` positions along the axis towards its end, zeros first.
Operand moved(Lowering& l, const Operand& x, size_t axis, int64_t by) {
  Extents size = x.type.shape, zeros = x.type.shape;
  size[axis] -= by;
  zeros[axis] = by;
  const Operand front = l.broadcast(l.number(0, x.type.dtype), zeros);
  return l.concat({front, l.slice(x, Extents(x.rank(), 0), Extents(x.rank(), 1), size)}, static_cast<int64_t>(axis));
}

Operand reversed(Lowering& l, const Operand& x, size_t axis) {
  Extents begin(x.rank(), 0), step(x.rank(), 1);
  begin[axis] = x.type.shape[axis] - 1;
  step[axis] = -1;
  return l.slice(x, begin, step, x.type.shape);
}

// By doubling: after each step an element is the sum of twice as many.
void running_sum(NodeContext& c) {
  Operand x = c.in(0);
  const auto axis = static_cast<size_t>(axis_of(c.constant_number(1, "axis"), x.rank()));
  if (x.is_empty()) return void(c.outputs[0] = x);
  const bool reverse = c.number("reverse", 0) != 0;
  if (reverse) x = reversed(c.l, x, axis);
  if (c.number("exclusive", 0)) x = moved(c.l, x, axis, 1);
  for (int64_t by = 1; by < x.type.shape[axis]; by *= 2) x = c.l.pointwise("add", {x, moved(c.l, x, axis, by)});
  c.outputs[0] = reverse ? reversed(c.l, x, axis) : x;
}

void reverse_sequence(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto time = static_cast<size_t>(axis_of(c.number("time_axis", 0), x.rank())),
             batch = static_cast<size_t>(axis_of(c.number("batch_axis", 1), x.rank()));
  c.outputs[0] = reversed_sequences(c.l, x, c.in(1), time, batch);
}

int64_t position_of(int64_t index, int64_t extent) {
  HONE_USER_CHECK(index >= -extent && index < extent) << "index " << index << " of " << extent;
  return index < 0 ? index + extent : index;
}

// Whether only a call knows the indices, or how many there are.
bool are_found_out(NodeContext& c) {
  const Operand& indices = c.in(1);
  return !indices.is_empty() && (indices.ragged || !c.l.data_of(indices));
}

void scatter_found_elements(NodeContext& c, size_t axis) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &index = c.in(1);
  const Extents& shape = index.type.shape;
  std::vector<Operand> coordinates;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == axis) {
      coordinates.push_back(l.from_front(whole(index), l.numbers({x.type.shape[d]})));
      continue;
    }
    HONE_USER_CHECK(l.may_make(element_count({shape[d], 8}))) << to_string(index.type) << " is too large";
    std::vector<int64_t> own(static_cast<size_t>(shape[d]));
    std::iota(own.begin(), own.end(), 0);
    Extents along(shape.size(), 1);
    along[d] = shape[d];
    coordinates.push_back(l.reshape(l.numbers(own), along));
  }
  const int64_t size = element_count(x.type.shape);
  c.outputs[0] = scattered_rows(l, x, c.in(2), flat_positions(l, coordinates, x.type.shape, index.ragged), size, 1,
                                c.text("reduction", "none"));
}

void scatter_found_rows(NodeContext& c, size_t depth, int64_t each) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &index = c.in(1);
  const Extents extents(x.type.shape.begin(), x.type.shape.begin() + static_cast<std::ptrdiff_t>(depth)),
      shape(index.type.shape.begin(), index.type.shape.end() - 1);
  const int64_t count = element_count(shape), rows = element_count(extents);
  const Operand flat = l.from_front(l.reshape(whole(index), {count, static_cast<int64_t>(depth)}), l.numbers(extents));
  std::vector<Operand> coordinates;
  for (size_t d = 0; d < depth; ++d)
    coordinates.push_back(
        l.reshape(l.slice(flat, {0, static_cast<int64_t>(d)}, {1, 1}, {count, 1}), shape.empty() ? Extents{1} : shape));
  c.outputs[0] = scattered_rows(l, x, c.in(2), flat_positions(l, coordinates, extents, index.ragged), rows, each,
                                c.text("reduction", "none"));
}

void scatter_elements(NodeContext& c) {
  const Operand &x = c.in(0), &updates = c.in(2);
  const auto axis = static_cast<size_t>(axis_of(c.number("axis", 0), x.rank()));
  const Extents& shape = updates.type.shape;
  HONE_USER_CHECK(shape.size() == x.rank() && c.in(1).type.shape == shape)
      << to_string(updates.type) << " with indices " << to_string(c.in(1).type) << " into " << to_string(x.type);
  for (size_t d = 0; d < shape.size(); ++d)
    HONE_USER_CHECK(d == axis || shape[d] <= x.type.shape[d])
        << to_string(updates.type) << " into " << to_string(x.type);
  if (are_found_out(c) && !x.is_empty()) return scatter_found_elements(c, axis);
  const std::vector<int64_t> indices = c.constant_numbers(1, "indices", SIZE_MAX);
  if (indices.empty()) return void(c.outputs[0] = x);
  const Extents strides = row_major_strides(x.type.shape), own = row_major_strides(shape);
  std::vector<int64_t> target;
  for (size_t u = 0; u < indices.size(); ++u) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      at += strides[d] *
            (d == axis ? position_of(indices[u], x.type.shape[d]) : static_cast<int64_t>(u) / own[d] % shape[d]);
    target.push_back(at);
  }
  c.outputs[0] = scattered(c.l, x, updates, target, c.text("reduction", "none"));
}

void scatter_nd(NodeContext& c) {
  const Operand &x = c.in(0), &index = c.in(1), &updates = c.in(2);
  HONE_USER_CHECK(index.rank() >= 1 && static_cast<size_t>(index.type.shape.back()) <= x.rank())
      << "indices " << to_string(index.type) << " into " << to_string(x.type);
  const auto depth = static_cast<size_t>(index.type.shape.back());
  const int64_t each = element_count({x.type.shape.begin() + static_cast<std::ptrdiff_t>(depth), x.type.shape.end()});
  const int64_t count = element_count({index.type.shape.begin(), index.type.shape.end() - 1});
  Extents wanted(index.type.shape.begin(), index.type.shape.end() - 1);
  wanted.insert(wanted.end(), x.type.shape.begin() + static_cast<std::ptrdiff_t>(depth), x.type.shape.end());
  HONE_USER_CHECK(updates.type.shape == wanted)
      << to_string(updates.type) << " with indices " << to_string(index.type) << " into " << to_string(x.type);
  if (count == 0 || each == 0) return void(c.outputs[0] = x);
  if (are_found_out(c) && !x.is_empty()) return scatter_found_rows(c, depth, each);
  const std::vector<int64_t> indices = c.constant_numbers(1, "indices", SIZE_MAX);
  HONE_USER_CHECK(c.l.may_make(element_count({count, each, 8}))) << to_string(updates.type) << " is too large";
  const Extents strides = row_major_strides(x.type.shape);
  std::vector<int64_t> target;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < depth; ++d)
      at += strides[d] * position_of(indices[static_cast<size_t>(i) * depth + d], x.type.shape[d]);
    for (int64_t e = 0; e < each; ++e) target.push_back(at + e);
  }
  c.outputs[0] = scattered(c.l, x, updates, target, c.text("reduction", "none"));
}

// Rows of a cache [batch, .., rows, ..], those along `axis` from each sequence's own position on, are the update's. A
// linear cache drops rows beyond its end; a circular one goes on at its beginning.
void tensor_scatter(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &update = c.in(1);
  const auto axis = static_cast<size_t>(axis_of(c.number("axis", -2), x.rank()));
  HONE_USER_CHECK(axis > 0) << "axis 0 is that of the sequences";
  const std::string mode = c.text("mode", "linear");
  HONE_USER_CHECK(mode == "linear" || mode == "circular")
      << "mode=" << mode << " is not supported; linear and circular are";
  const Extents &s = x.type.shape, &u = update.type.shape;
  HONE_USER_CHECK(u.size() == s.size()) << to_string(update.type) << " into " << to_string(x.type);
  for (size_t d = 0; d < s.size(); ++d)
    HONE_USER_CHECK(u[d] == s[d] || (d == axis && u[d] < s[d]))
        << to_string(update.type) << " into " << to_string(x.type);
  if (element_count(u) == 0) return void(c.outputs[0] = x);
  const auto along = s.begin() + static_cast<std::ptrdiff_t>(axis);
  const int64_t batch = s[0], before = element_count({s.begin() + 1, along}), rows = s[axis],
                row = element_count({along + 1, s.end()});
  Operand position = positions_along(l, u[axis], 2, 3);
  if (c.has(2)) {
    const Operand& first = c.in(2);
    HONE_USER_CHECK(first.type.shape == Extents{batch} && first.type.dtype.is_integer())
        << "write_indices " << to_string(first.type) << " of " << batch << " sequences";
    position = l.pointwise("add", {l.reshape(l.cast(first, i64), {batch, 1, 1}), position});
  }
  if (mode == "circular") position = l.pointwise("mod", {position, l.number(static_cast<double>(rows), i64)});
  const Operand whole_position = l.broadcast(position, {batch, before, u[axis]});
  const std::vector<Operand> coordinates{positions_along(l, batch, 0, 3), positions_along(l, before, 1, 3),
                                         whole_position};
  const Operand positions = flat_positions(l, coordinates, {batch, before, rows}, std::nullopt);
  c.outputs[0] = scattered_rows(l, x, update, positions, batch * before * rows, row, "none");
}

}  // namespace

void add_position_operators(ConverterTable& t) {
  t[":Trilu"] = &triangle;
  t[":EyeLike"] = &eye_like;
  t[":OneHot"] = &one_hot;
  t[":Hardmax"] = &hardmax;
  t[":CumSum"] = &in_f32<&running_sum>;
  t[":ReverseSequence"] = &reverse_sequence;
  t[":Scatter"] = &scatter_elements;
  t[":ScatterElements"] = &scatter_elements;
  t[":ScatterND"] = &scatter_nd;
  t[":TensorScatter"] = &tensor_scatter;
}

}  // namespace hone::onnx
