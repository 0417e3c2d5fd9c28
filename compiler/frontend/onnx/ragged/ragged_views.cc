// Rules of shapes and views: which axis of the result is the ragged one.
#include <algorithm>

#include "compiler/frontend/onnx/node/window_node.h"
#include "compiler/frontend/onnx/ragged/ragged_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

void shape(const RaggedNode& n) {
  n.run();
  const auto r = n.ragged(0);
  if (!r) return;
  const Operand& x = n.in(0);
  const auto rank = static_cast<int64_t>(x.rank());
  const auto position = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = position(n.c.number("start", 0)), end = std::max(begin, position(n.c.number("end", rank))),
                at = static_cast<int64_t>(r->axis) - begin;
  if (at < 0 || at >= end - begin) return;
  std::vector<Operand> parts;
  Extents least;
  for (int64_t d = begin; d < end; ++d) {
    const int64_t extent = x.type.shape[static_cast<size_t>(d)];
    const bool is_it = d == static_cast<int64_t>(r->axis);
    parts.push_back(is_it ? Operand{r->count, {i64, {1}}} : n.l().numbers({extent}));
    least.push_back(is_it ? 0 : extent);
  }
  Operand out = n.l().concat(parts, 0);
  out.known = n.l().data_of(n.c.outputs[0]);
  out.least = TensorData::of_numbers(least);
  n.c.outputs[0] = std::move(out);
}

void size(const RaggedNode& n) {
  n.run();
  const auto r = n.ragged(0);
  if (!r || n.in(0).is_empty()) return;
  const int64_t all = element_count(n.in(0).type.shape), each = all / n.in(0).type.shape[r->axis];
  Operand out =
      n.l().reshape(n.l().pointwise("mul", {{r->count, {i64, {1}}}, n.l().number(static_cast<double>(each), i64)}), {});
  out.known = TensorData::of_numbers({all}).reshaped({});
  out.least = TensorData::of_numbers({0}).reshaped({});
  n.c.outputs[0] = std::move(out);
}

void constant_of_shape(const RaggedNode& n) {
  const auto axis = open_axis(n.in(0));
  if (!axis) return n.run();
  n.run_with_most(0);
  n.set(0, Ragged{*axis, n.number_at(n.in(0), static_cast<int64_t>(*axis))});
}

int64_t elements_before(const Extents& shape, size_t axis) {
  return element_count({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)});
}

int64_t elements_behind(const Extents& shape, size_t axis) {
  return element_count({shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()});
}

// The run-time extent of output axis `d` of a reshape whose input axis `r.axis` is ragged. In front of both axes there
// are only ones, or the two axes are the same.
Ragged viewed(const RaggedNode& n, const Ragged& r, const Extents& from, const Extents& to, size_t d) {
  const int64_t before = elements_before(from, r.axis), behind = elements_behind(from, r.axis),
                each = elements_behind(to, d);
  const bool is_same = to[d] == from[r.axis] && elements_before(to, d) == before && each == behind;
  if (is_same) return {d, r.count};
  const bool is_more = behind % each == 0;
  HONE_USER_CHECK(before == 1 && elements_before(to, d) == 1 && (is_more || each % behind == 0))
      << "a view of an axis whose extent is known only when it runs";
  const Operand factor = n.l().number(static_cast<double>(is_more ? behind / each : each / behind), i64);
  return {d, n.l().value(n.l().pointwise(is_more ? "mul" : "div", {{r.count, {i64, {1}}}, factor}))};
}

// The ragged axis is the one with -1 in the shape, or with a number found at run time.
void reshape(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto open = open_axis(n.in(1));
  HONE_USER_CHECK(r || !open) << "what is known is given a shape that is known only when it runs";
  const bool is_counted_shape = n.is_counted(1);
  const Extents to = is_counted_shape ? n.in(1).known->numbers() : n.c.constant_numbers(1, "shape");
  if (is_counted_shape)
    n.run_with_most(1);
  else
    n.run();
  if (!r) return;
  std::optional<size_t> axis = open;
  for (size_t d = 0; d < to.size() && !open; ++d) {
    const bool is_copied = to[d] == 0 && d == r->axis && n.c.number("allowzero", 0) == 0;
    if (is_copied || (to[d] == -1 && !axis)) axis = d;
  }
  HONE_USER_CHECK(axis) << "a view of known shape of what is known only when it runs";
  n.set(0, viewed(n, *r, n.in(0).type.shape, n.c.outputs[0].type.shape, *axis));
}

void flatten(const RaggedNode& n) {
  n.run();
  const auto r = n.ragged(0);
  if (!r) return;
  const Extents& from = n.in(0).type.shape;
  int64_t axis = n.c.number("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(from.size());
  const size_t half = static_cast<int64_t>(r->axis) < axis ? 0 : 1;
  const int64_t before =
      elements_before(from, r->axis) / (half == 0 ? 1 : elements_before(from, static_cast<size_t>(axis)));
  HONE_USER_CHECK(before == 1) << "a view of an axis whose extent is known only when it runs";
  const int64_t each = n.c.outputs[0].type.shape[half] / from[r->axis];
  const Operand factor = n.l().number(static_cast<double>(each), i64);
  n.set(0, Ragged{half, n.l().value(n.l().pointwise("mul", {{r->count, {i64, {1}}}, factor}))});
}

// The axes of a Squeeze or Unsqueeze, an attribute or an input.
std::optional<Extents> axes_of_view(const RaggedNode& n) {
  if (n.has(1)) return n.c.constant_numbers(1, "axes");
  return n.c.numbers("axes");
}

void squeeze(const RaggedNode& n) {
  n.run();
  const auto r = n.ragged(0);
  if (!r) return;
  const Operand& x = n.in(0);
  const auto axes = axes_of_view(n);
  std::vector<bool> goes(x.rank(), false);
  for (const int64_t a : axes.value_or(Extents{})) goes[static_cast<size_t>(axis_of(a, x.rank()))] = true;
  for (size_t d = 0; d < x.rank() && !axes; ++d) goes[d] = x.type.shape[d] == 1;
  HONE_USER_CHECK(!goes[r->axis]) << "an axis whose extent is known only when it runs goes";
  n.set(0, on_axis(r, -std::count(goes.begin(), goes.begin() + static_cast<std::ptrdiff_t>(r->axis), true)));
}

void unsqueeze(const RaggedNode& n) {
  n.run();
  auto r = n.ragged(0);
  if (!r) return;
  std::vector<bool> is_new(n.c.outputs[0].rank(), false);
  for (const int64_t a : axes_of_view(n).value_or(Extents{}))
    is_new[static_cast<size_t>(axis_of(a, is_new.size()))] = true;
  size_t old = 0;
  for (size_t d = 0; d < is_new.size(); ++d)
    if (!is_new[d] && old++ == n.in(0).ragged->axis) r->axis = d;
  n.set(0, r);
}

void tile(const RaggedNode& n) {
  const auto r = n.ragged(0);
  n.run();
  HONE_USER_CHECK(!r || n.c.outputs[0].type.shape.at(r->axis) == n.in(0).type.shape[r->axis])
      << "it repeats an axis whose extent is known only when it runs";
  n.set(0, r);
}

// The filler becomes the padding's value.
void pad(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (!r) return n.run();
  const Operand& x = n.in(0);
  const Extents pads = pads_of(n.c);
  const int64_t before = pads[r->axis], after = pads[x.rank() + r->axis];
  if (before == 0 && after == 0) {
    n.run();
    return n.set(0, r);
  }
  HONE_USER_CHECK(n.c.text("mode", "constant") == "constant" && before >= 0 && after >= 0)
      << "of an axis whose extent is known only when it runs: mode=constant alone, and only more elements";
  const Operand number = n.c.opset < 11 ? n.l().number(n.c.real("value", 0), x.type.dtype)
                         : n.has(2)     ? n.l().reshape(n.in(2), {})
                                        : n.l().cast(n.l().number(0, f32), x.type.dtype);
  n.c.inputs[0] = filled(n.l(), x, number);
  n.run();
  const Operand more = n.l().number(static_cast<double>(before + after), i64);
  n.set(0, Ragged{r->axis, n.l().value(n.l().pointwise("add", {{r->count, {i64, {1}}}, more}))});
}

void transpose(const RaggedNode& n) {
  n.run();
  auto r = n.ragged(0);
  if (!r) return;
  const auto perm = n.c.numbers("perm");
  const size_t rank = n.in(0).rank();
  for (size_t d = 0; d < rank; ++d)
    if ((perm ? static_cast<size_t>((*perm)[d]) : rank - 1 - d) == n.in(0).ragged->axis) r->axis = d;
  n.set(0, r);
}

void expand(const RaggedNode& n) {
  const bool is_counted_shape = n.is_counted(1);
  const auto open = open_axis(n.in(1));
  const Extents to = is_counted_shape ? n.in(1).known->numbers() : n.c.constant_numbers(1, "shape");
  if (is_counted_shape)
    n.run_with_most(1);
  else
    n.run();
  const Operand& x = n.in(0);
  const size_t rank = n.c.outputs[0].rank();
  if (const auto r = on_axis(n.ragged(0), static_cast<int64_t>(rank - x.rank()))) {
    const bool is_named = r->axis + to.size() >= rank;  // by an entry of the shape
    const bool is_its_own = open && *open + rank - to.size() == r->axis &&
                            x.type.shape[r->axis + x.rank() - rank] > 1 &&
                            n.number_at(n.in(1), static_cast<int64_t>(*open)) == r->count;
    if (is_its_own) return n.set(0, r);
    HONE_USER_CHECK(!open && (!is_named || to[r->axis + to.size() - rank] == 1))
        << "an extent that is known only when it runs is broadcast";
    return n.set(0, r);
  }
  if (!open) return;
  const size_t at = *open + rank - to.size();
  HONE_USER_CHECK(at + x.rank() < rank || x.type.shape[at + x.rank() - rank] == 1)
      << to_string(x.type) << " is broadcast to an extent that is known only when it runs";
  n.set(0, Ragged{at, n.number_at(n.in(1), static_cast<int64_t>(*open))});
}

void range(const RaggedNode& n) {
  if (!n.is_counted(1) || n.is_counted(0) || n.is_counted(2)) return n.run();
  const Operand& limit = n.in(1);
  const std::vector<double> step = n.c.constant(2, "step").values();
  HONE_USER_CHECK(step.size() == 1 && step[0] == 1) << "a limit that is known only when it runs, by steps other than 1";
  n.run_with_most(1);
  const Operand start = n.l().reshape(n.l().cast(n.c.in(0), i64), {1}), end{n.number_at(limit, 0), {i64, {1}}};
  n.set(0,
        Ragged{0, n.l().value(n.l().pointwise("maximum", {n.l().pointwise("sub", {end, start}), n.l().numbers({0})}))});
}

}  // namespace

void add_view_rules(RuleTable& t) {
  t["Shape"] = &shape;
  t["Size"] = &size;
  t["ConstantOfShape"] = &constant_of_shape;
  t["Reshape"] = &reshape;
  t["Flatten"] = &flatten;
  t["Squeeze"] = &squeeze;
  t["Unsqueeze"] = &unsqueeze;
  t["Tile"] = &tile;
  t["Pad"] = &pad;
  t["Transpose"] = &transpose;
  t["Expand"] = &expand;
  t["Range"] = &range;
}

}  // namespace hone::onnx
