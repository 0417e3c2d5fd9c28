// Operators that move elements: shapes, axes, borders, positions.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/lowering/operators/positions.h"
#include "compiler/frontend/lowering/operators/tile.h"
#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// The shape is an input, an option, or what the file says of the output.
void reshape(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto* options = c.options<file::ReshapeOptions>();
  Extents to;
  if (c.has(1)) {
    to = c.constant_numbers(1, "shape");
  } else if (options && options->new_shape()) {
    HONE_USER_CHECK(options->new_shape()->size() <= kMostAxes)
        << "a shape of " << options->new_shape()->size() << " axes";
    to.assign(options->new_shape()->begin(), options->new_shape()->end());
    if (to == Extents{0}) to.clear();  // how old files write a single number
  } else {
    c.require_outputs(1);
    to = c.computed[0]->type.shape;
  }
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < to.size(); ++d) {
    HONE_USER_CHECK(to[d] >= -1 && (to[d] != -1 || unknown < 0)) << "shape [" << join(to, ", ") << "]";
    if (to[d] == -1)
      unknown = static_cast<int64_t>(d);
    else
      known = element_count({known, to[d]});
  }
  if (unknown >= 0) {
    const int64_t all = element_count(x.type.shape);
    HONE_USER_CHECK(known > 0 && all % known == 0) << to_string(x.type) << " has no shape [" << join(to, ", ") << "]";
    to[static_cast<size_t>(unknown)] = all / known;
  }
  c.outputs[0] = c.l.reshape(x, to);
}

void squeeze(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto* options = c.options<file::SqueezeOptions>();
  const auto* given = options ? options->squeeze_dims() : nullptr;
  const bool has_axes = given && given->size() > 0;
  std::vector<bool> goes(x.rank(), false);
  for (size_t d = 0; d < x.rank() && !has_axes; ++d) goes[d] = x.type.shape[d] == 1;
  if (has_axes)
    for (const int32_t axis : *given) goes[static_cast<size_t>(axis_of(axis, x.rank()))] = true;
  Extents shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    HONE_USER_CHECK(!goes[d] || x.type.shape[d] == 1) << "axis " << d << " of " << to_string(x.type);
    if (!goes[d]) shape.push_back(x.type.shape[d]);
  }
  c.outputs[0] = c.l.reshape(x, shape);
}

void expand_dims(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.constant_number(1, "axis"), x.rank() + 1);
  Extents shape = x.type.shape;
  shape.insert(shape.begin() + axis, 1);
  c.outputs[0] = c.l.reshape(x, shape);
}

void transpose(NodeContext& c) {
  const Operand& x = c.in(0);
  const Extents perm = c.constant_numbers(1, "perm");
  Extents sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.size() == x.rank();
  for (size_t d = 0; d < sorted.size(); ++d) is_order = is_order && sorted[d] == static_cast<int64_t>(d);
  HONE_USER_CHECK(is_order) << "perm [" << join(perm, ", ") << "] of " << to_string(x.type);
  const Operand* planes = c.l.known_planes(x);
  c.outputs[0] = planes && perm == Extents{0, 3, 1, 2} ? *planes : c.l.turned(x, perm);
}

void concatenation(NodeContext& c) {
  using Options = file::ConcatenationOptions;
  std::vector<Operand> parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(c.in(i));
  HONE_USER_CHECK(!parts.empty()) << "it has no inputs";
  const Operand out = c.l.join(parts, axis_of(c.option(&Options::axis), parts[0].rank()));
  c.outputs[0] = activated_image(c.l, out, c.option(&Options::activation));
}

void pack(NodeContext& c) {
  HONE_USER_CHECK(!c.inputs.empty()) << "it has no inputs";
  const int64_t axis = axis_of(c.option(&file::PackOptions::axis), c.in(0).rank() + 1);
  std::vector<Operand> parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Extents shape = c.in(i).type.shape;
    HONE_USER_CHECK(shape == c.in(0).type.shape) << to_string(c.in(i).type) << " beside " << to_string(c.in(0).type);
    shape.insert(shape.begin() + axis, 1);
    parts.push_back(c.l.reshape(c.in(i), shape));
  }
  c.outputs[0] = c.l.concat(parts, axis);
}

// Whole numbers in front of and behind each axis: [rank, 2] in a file.
std::pair<Extents, Extents> borders_of(const NodeContext& c) {
  const size_t rank = c.in(0).rank();
  const Extents numbers = c.constant_numbers(1, "pads");
  HONE_USER_CHECK(numbers.size() == 2 * rank) << numbers.size() << " pads for " << to_string(c.in(0).type);
  std::pair<Extents, Extents> borders;
  for (size_t d = 0; d < rank; ++d) {
    for (const int64_t n : {numbers[2 * d], numbers[2 * d + 1]})
      HONE_USER_CHECK(n >= 0 && n < int64_t{1} << 32) << "a pad of " << n;
    borders.first.push_back(numbers[2 * d]);
    borders.second.push_back(numbers[2 * d + 1]);
  }
  return borders;
}

// PAD puts zeros around, PADV2 a number.
void pad(NodeContext& c) {
  const Operand& x = c.in(0);
  auto [before, after] = borders_of(c);
  const DType t = x.type.dtype;
  double value = 0;
  if (c.has(2)) {
    const TensorData data = c.constant(2, "value");
    HONE_USER_CHECK(data.elements() == 1) << "its value is " << to_string(data.type());
    value = data.values()[0];
  }
  HONE_USER_CHECK(t.is_float() || std::abs(value) < 0x1p53) << "it pads with " << value;
  const Extents none(x.rank(), 0);
  if (before == none && after == none) return void(c.outputs[0] = x);
  HONE_USER_CHECK(!x.is_empty()) << to_string(x.type);
  std::string number = number_text(value, t);
  if (!t.is_float())
    number = fmt::format("{}", static_cast<int64_t>(value));
  else if (number.ends_with(".0"))
    number.resize(number.size() - 2);
  const Operand* planes = c.l.known_planes(x);
  if (planes) before = of_planes(before), after = of_planes(after);
  const Operand out =
      c.l.add("pad", {{"before", join(before)}, {"after", join(after)}, {"mode", "constant"}, {"value", number}},
              {c.l.value(planes ? *planes : x)});
  c.outputs[0] = planes ? c.l.pixels(out) : out;
}

// REFLECT leaves an axis's last elements out, which pad knows; SYMMETRIC repeats them, which gathers do, an axis each.
void mirror_pad(NodeContext& c) {
  constexpr int8_t kReflect = 0, kSymmetric = 1;
  const int8_t mode = c.option(&file::MirrorPadOptions::mode);
  HONE_USER_CHECK(mode == kReflect || mode == kSymmetric) << "a mode of kind " << static_cast<int>(mode);
  const Operand& x = c.in(0);
  auto [before, after] = borders_of(c);
  HONE_USER_CHECK(!x.is_empty()) << to_string(x.type);
  for (size_t d = 0; d < x.rank(); ++d)
    HONE_USER_CHECK(std::max(before[d], after[d]) <= x.type.shape[d] - (mode == kReflect ? 1 : 0))
        << "it mirrors " << std::max(before[d], after[d]) << " elements of axis " << d << " of " << to_string(x.type);
  const Operand* planes = c.l.known_planes(x);
  if (planes) before = of_planes(before), after = of_planes(after);
  Operand out = planes ? *planes : x;
  if (mode == kReflect && (before != Extents(x.rank(), 0) || after != Extents(x.rank(), 0)))
    out = c.l.add("pad", {{"before", join(before)}, {"after", join(after)}, {"mode", "reflect"}}, {c.l.value(out)});
  for (size_t d = 0; d < x.rank() && mode == kSymmetric; ++d) {
    const int64_t extent = out.type.shape[d];
    if (before[d] == 0 && after[d] == 0) continue;
    HONE_USER_CHECK(c.l.may_make(8 * 3 * extent)) << "places of " << extent << " elements";
    std::vector<int64_t> positions;
    for (int64_t i = -before[d]; i < extent + after[d]; ++i)
      positions.push_back(i < 0 ? -i - 1 : i < extent ? i : 2 * extent - 1 - i);
    Extents shape = out.type.shape;
    shape[d] = static_cast<int64_t>(positions.size());
    out = c.l.add("gather", {{"axis", std::to_string(d)}}, {c.l.value(out), c.l.value(c.l.numbers(positions))}, shape);
  }
  c.outputs[0] = planes ? c.l.pixels(out) : out;
}

// Gathers by itself for each place in the first `batch` axes: x [batch, front, n, behind] by positions [batch, p], as
// rows of one table.
Operand gathered_by_batch(Lowering& l, const Operand& x, const Operand& positions, size_t batch, size_t axis) {
  const auto at = [](const Operand& o, size_t d) { return o.type.shape.begin() + static_cast<std::ptrdiff_t>(d); };
  const int64_t count = element_count({x.type.shape.begin(), at(x, batch)}), n = x.type.shape[axis],
                front = element_count({at(x, batch), at(x, axis)}),
                behind = element_count({at(x, axis + 1), x.type.shape.end()}),
                p = element_count(positions.type.shape) / count;
  const Operand table =
      l.reshape(l.transpose(l.reshape(x, {count, front, n, behind}), {0, 2, 1, 3}), {count * n, front * behind});
  const Operand begins = l.pointwise("mul", {positions_along(l, count, 0, 2), l.number(static_cast<double>(n), i64)});
  const Operand rows = l.pointwise("add", {l.reshape(l.cast(positions, i64), {count, p}), begins});
  const Operand out = l.add("gather", {{"axis", "0"}}, {l.value(table), l.value(rows)});
  return l.transpose(l.reshape(out, {count, p, front, behind}), {0, 2, 1, 3});
}

void gather(NodeContext& c) {
  const Operand &x = c.in(0), &positions = c.in(1);
  const int64_t given = c.option(&file::GatherOptions::batch_dims),
                axis = axis_of(c.option(&file::GatherOptions::axis), x.rank()),
                batch = given < 0 ? given + static_cast<int64_t>(positions.rank()) : given;
  HONE_USER_CHECK(positions.type.dtype == i32 || positions.type.dtype == i64) << "places " << to_string(positions.type);
  const auto agrees = [&] {
    return std::equal(x.type.shape.begin(), x.type.shape.begin() + batch, positions.type.shape.begin());
  };
  HONE_USER_CHECK(batch >= 0 && batch <= axis && batch <= static_cast<int64_t>(positions.rank()) && agrees())
      << "batch_dims=" << given << " of " << to_string(x.type) << " and places " << to_string(positions.type);
  Extents shape(x.type.shape.begin(), x.type.shape.begin() + axis);
  shape.insert(shape.end(), positions.type.shape.begin() + batch, positions.type.shape.end());
  shape.insert(shape.end(), x.type.shape.begin() + axis + 1, x.type.shape.end());
  if (element_count(shape) == 0) return void(c.outputs[0] = {kNoValue, {x.type.dtype, shape}});
  if (const auto data = c.l.data_of(positions)) {
    for (const int64_t at : data->numbers())
      HONE_USER_CHECK(at >= 0 && at < x.type.shape[static_cast<size_t>(axis)])
          << "place " << at << " of axis " << axis << " of " << to_string(x.type);
  }
  c.outputs[0] =
      batch == 0
          ? c.l.add("gather", {{"axis", std::to_string(axis)}}, {c.l.value(x), c.l.value(positions)}, shape)
          : c.l.reshape(gathered_by_batch(c.l, x, positions, static_cast<size_t>(batch), static_cast<size_t>(axis)),
                        shape);
}

// Rows of a table.
void embedding_lookup(NodeContext& c) {
  const Operand &positions = c.in(0), &table = c.in(1);
  HONE_USER_CHECK(positions.rank() == 1 && positions.type.dtype == i32 && table.rank() >= 1 && !table.is_empty() &&
                  !positions.is_empty())
      << "places " << to_string(positions.type) << " of " << to_string(table.type);
  Extents shape = table.type.shape;
  shape[0] = positions.type.shape[0];
  c.outputs[0] = c.l.add("gather", {{"axis", "0"}}, {c.l.value(table), c.l.value(positions)}, shape);
}

// As many as a call finds out, where these are the places.
void gather_nd(NodeContext& c) {
  const Operand &x = c.in(0), positions = whole(c.in(1));
  HONE_USER_CHECK(!x.ragged && (!c.in(1).ragged || (c.in(1).ragged->axis == 0 && positions.rank() >= 2)))
      << "only a call finds out how long its inputs are";
  HONE_USER_CHECK(positions.rank() >= 1 && static_cast<size_t>(positions.type.shape.back()) <= x.rank())
      << "places " << to_string(positions.type) << " of " << to_string(x.type);
  Extents shape(positions.type.shape.begin(), positions.type.shape.end() - 1);
  shape.insert(shape.end(), x.type.shape.begin() + positions.type.shape.back(), x.type.shape.end());
  c.outputs[0] = c.l.add("gather_nd", {}, {c.l.value(x), c.l.value(positions)}, shape);
  c.outputs[0].ragged = c.in(1).ragged;
}

void repeat(NodeContext& c) { c.outputs[0] = tile(c.l, c.in(0), c.constant_numbers(1, "repeats")); }

void broadcast_to(NodeContext& c) {
  const Extents shape = c.constant_numbers(1, "shape");
  for (const int64_t e : shape) HONE_USER_CHECK(e >= 0) << "shape [" << join(shape, ", ") << "]";
  c.outputs[0] = c.l.broadcast(c.in(0), shape);
}

}  // namespace

void add_movement_operators(ConverterTable& t) {
  t.own[2] = {&concatenation, Numbers::kMoved};
  t.own[7] = {&embedding_lookup};
  t.own[22] = {&reshape, Numbers::kMoved};
  t.own[34] = t.own[60] = {&pad};
  t.own[36] = {&gather, Numbers::kMoved};
  t.own[39] = {&transpose, Numbers::kMoved};
  t.own[43] = {&squeeze, Numbers::kMoved};
  t.own[69] = {&repeat, Numbers::kMoved};
  t.own[70] = {&expand_dims, Numbers::kMoved};
  t.own[83] = {&pack, Numbers::kMoved};
  t.own[100] = {&mirror_pad, Numbers::kMoved};
  t.own[107] = {&gather_nd, Numbers::kMoved, false, false, true};
  t.own[130] = {&broadcast_to, Numbers::kMoved};
}

}  // namespace hone::tflite
