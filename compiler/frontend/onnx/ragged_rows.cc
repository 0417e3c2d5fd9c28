// What operators make of ragged tensors, and of numbers that a call finds out: a rule an operator, around its row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "compiler/frontend/onnx/ragged.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

bool is_counted(const std::optional<Operand>& x) { return x && x->least.has_value(); }

// A node whose inputs say no more what only a call finds out, and what they said.
struct RaggedNode {
  NodeContext& c;
  const Row row;
  const std::vector<std::optional<Operand>> given;

  RaggedNode(NodeContext& context, Row of) : c(context), row(of), given(context.inputs) {
    for (std::optional<Operand>& x : c.inputs) {
      if (!x) continue;
      x->ragged.reset();
      if (x->least) x->least.reset(), x->known.reset();
    }
  }

  const Operand& in(size_t i) const {
    c.in(i);
    return *given[i];
  }
  bool has(size_t i) const { return c.has(i); }
  std::optional<Ragged> ragged(size_t i) const { return has(i) ? in(i).ragged : std::nullopt; }
  Lowering& l() const { return c.l; }

  // The row, on all that lies in memory.
  void run() const { row(c); }
  // The row, for which the input is what a call may find out at the most.
  void run_with_most(size_t i) const {
    const std::optional<Operand> kept = c.inputs[i];
    c.inputs[i] = c.l.constant(*in(i).known);
    row(c);
    c.inputs[i] = kept;
  }
  void set(size_t output, const std::optional<Ragged>& r) const {
    if (output >= c.outputs.size() || !r || c.outputs[output].is_empty()) return;
    HONE_USER_CHECK(r->axis < c.outputs[output].rank()) << "an axis whose extent is known only when it runs goes";
    c.outputs[output].ragged = r;
  }
  void set_all(const std::optional<Ragged>& r) const {
    for (size_t o = 0; o < c.outputs.size(); ++o) set(o, r);
  }
  // Element `at` of numbers, as s64[1]: an extent, so that a call for which it is negative has no result.
  ValueId number_at(const Operand& numbers, int64_t at) const {
    const Operand flat = c.l.reshape(whole(numbers), {element_count(numbers.type.shape)});
    const ValueId number = c.l.value(c.l.cast(c.l.slice(flat, {at}, {1}, {1}), i64));
    if (numbers.least->numbers().at(static_cast<size_t>(at)) >= 0) return number;
    return required(number, c.l.pointwise("greater_equal", {{number, {i64, {1}}}, c.l.number(0, i64)}));
  }
  // The number, where the condition of one bool holds; else the call has no result.
  ValueId required(ValueId number, const Operand& condition) const {
    return c.l.b.add_one("require", {}, {number, c.l.as(condition, {1})});
  }
};

using Rule = void (*)(const RaggedNode& n);

// What two operands say of one axis.
void agree(std::optional<Ragged>* known, const std::optional<Ragged>& more) {
  if (!more) return;
  HONE_USER_CHECK(!*known || **known == *more)
      << "extents that are known only when it runs meet, and may be different ones";
  *known = more;
}

std::optional<Ragged> on_axis(std::optional<Ragged> r, int64_t by) {
  if (r) r->axis = static_cast<size_t>(static_cast<int64_t>(r->axis) + by);
  return r;
}

// Element by element, broadcast as numpy does.
std::optional<Ragged> aligned(const RaggedNode& n, size_t rank) {
  std::optional<Ragged> out;
  for (size_t i = 0; i < n.given.size(); ++i) {
    const auto r = n.ragged(i);
    if (!r) continue;
    HONE_USER_CHECK(rank >= n.in(i).rank()) << to_string(n.in(i).type);
    agree(&out, on_axis(r, static_cast<int64_t>(rank - n.in(i).rank())));
  }
  return out;
}

void pointwise(const RaggedNode& n) {
  n.run();
  const auto r = aligned(n, n.c.outputs[0].rank());
  for (size_t i = 0; i < n.given.size(); ++i)
    HONE_USER_CHECK(!n.ragged(i) || n.in(i).type.shape[n.ragged(i)->axis] == n.c.outputs[0].type.shape[r->axis])
        << "an extent that is known only when it runs is broadcast";
  n.set_all(r);
}

void shape(const RaggedNode& n) {
  n.run();
  const auto r = n.ragged(0);
  if (!r) return;
  const Operand& x = n.in(0);
  const auto rank = static_cast<int64_t>(x.rank());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = place(n.c.number("start", 0)), end = std::max(begin, place(n.c.number("end", rank))),
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

// Which axis numbers that are a shape leave open; none where they are known.
std::optional<size_t> open_axis(const Operand& numbers) {
  if (!numbers.least) return std::nullopt;
  const std::vector<int64_t> least = numbers.least->numbers(), most = numbers.known->numbers();
  std::optional<size_t> axis;
  for (size_t d = 0; d < most.size(); ++d) {
    if (least[d] == most[d]) continue;
    HONE_USER_CHECK(!axis) << "two extents are known only when it runs";
    axis = d;
  }
  return axis;
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

// What axis `d` of a view has where the ragged axis of what it is a view of is in it: nothing but ones stands in front
// of both, or both are the same.
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

// The ragged axis is the one of which the shape says no number, or one that a call finds out.
void reshape(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto open = open_axis(n.in(1));
  HONE_USER_CHECK(r || !open) << "what is known is given a shape that is known only when it runs";
  const bool is_counted_shape = is_counted(n.given[1]);
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

// Of Squeeze and Unsqueeze, as an attribute or an input.
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
  for (const int64_t a : axes.value_or(Extents{})) goes[static_cast<size_t>(NodeContext::axis_of(a, x.rank()))] = true;
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
    is_new[static_cast<size_t>(NodeContext::axis_of(a, is_new.size()))] = true;
  size_t old = 0;
  for (size_t d = 0; d < is_new.size(); ++d)
    if (!is_new[d] && old++ == n.in(0).ragged->axis) r->axis = d;
  n.set(0, r);
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

void concat(const RaggedNode& n) {
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", 0), n.in(0).rank()));
  std::optional<Ragged> across;
  std::vector<size_t> along;
  for (size_t i = 0; i < n.given.size(); ++i) {
    const auto r = n.ragged(i);
    if (r && r->axis == axis)
      along.push_back(i);
    else
      agree(&across, r);
  }
  n.run();
  if (along.empty()) return n.set(0, across);
  HONE_USER_CHECK(!across) << "two extents are known only when it runs";
  const Operand all = n.c.outputs[0];
  const auto extent = [&](size_t i) { return n.in(i).type.shape[axis]; };
  if (along.size() == 1 && along[0] + 1 == n.given.size()) {
    const int64_t before = all.type.shape[axis] - extent(along[0]);
    const Operand count = n.l().pointwise(
        "add", {{n.ragged(along[0])->count, {i64, {1}}}, n.l().number(static_cast<double>(before), i64)});
    return n.set(0, Ragged{axis, n.l().value(count)});
  }
  // The elements of all parts follow each other.
  std::vector<Operand> masks;
  for (size_t i = 0; i < n.given.size(); ++i) {
    if (extent(i) == 0) continue;
    const auto r = n.ragged(i);
    const Operand yes = n.l().constant(TensorData({boolean, {}}, std::string(1, '\1')));
    masks.push_back(r ? is_there(n.l(), 0, r->count, extent(i), 1) : n.l().broadcast(yes, {extent(i)}));
  }
  std::vector<int64_t> key{kJoinedMasks};
  for (const Operand& mask : masks) key.push_back(mask.id);
  const Operand places = places_of_true(n.l(), n.l().once(key, [&] { return n.l().concat(masks, 0); }));
  n.c.outputs[0] =
      n.l().add("gather", {{"axis", std::to_string(axis)}}, {n.l().value(all), n.l().value(places)}, all.type.shape);
  n.set(0, Ragged{axis, places.ragged->count});
}

// Of an axis that is ragged, or whose end is known only when it runs: from a place that is known, by steps of 1.
void slice(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (n.c.opset < 10) {
    HONE_USER_CHECK(!r) << "before opset 10 of what is known only when it runs";
    return n.run();
  }
  const Operand &x = n.in(0), &given_ends = n.in(2);
  const bool is_open = is_counted(n.given[2]);
  for (size_t i : {size_t{1}, size_t{3}, size_t{4}})
    HONE_USER_CHECK(!n.has(i) || !is_counted(n.given[i])) << "its "
                                                          << (i == 1   ? "start"
                                                              : i == 3 ? "axis"
                                                                       : "step")
                                                          << " is known only when it runs";
  const Extents starts = n.c.constant_numbers(1, "start"),
                ends = is_open ? given_ends.known->numbers() : n.c.constant_numbers(2, "end");
  Extents axes(starts.size()), steps(starts.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (n.has(3)) axes = n.c.constant_numbers(3, "axes");
  if (n.has(4)) steps = n.c.constant_numbers(4, "steps");
  HONE_USER_CHECK(axes.size() == starts.size() && ends.size() == starts.size() && steps.size() == starts.size())
      << "it has " << starts.size() << " starts, " << ends.size() << " ends, " << axes.size() << " axes";
  const auto number = [&](int64_t v) { return n.l().numbers({v}); };
  std::optional<Ragged> out = r;
  Extents most = ends;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(NodeContext::axis_of(axes[i], x.rank()));
    const bool is_ragged_axis = r && r->axis == d, is_open_end = is_open && open_axis(given_ends) == i;
    if (!is_ragged_axis && !is_open_end) continue;
    HONE_USER_CHECK(steps[i] == 1 && starts[i] >= 0 && !(out && out->axis != d))
        << "of an axis whose extent is known only when it runs: only from a known place on, by steps of 1";
    const Operand there = is_ragged_axis ? Operand{r->count, {i64, {1}}} : number(x.type.shape[d]);
    Operand end = number(ends[i]);
    if (is_open_end) {
      const Operand flat = n.l().reshape(whole(given_ends), {static_cast<int64_t>(ends.size())});
      end = n.l().cast(n.l().slice(flat, {static_cast<int64_t>(i)}, {1}, {1}), i64);
    }
    // From the end where it is negative; it may be that of all elements then, and those behind it are not there.
    if ((is_open_end ? given_ends.least->numbers().at(i) : ends[i]) < 0) {
      end = n.l().pointwise(
          "where", {n.l().pointwise("add", {end, there}), n.l().pointwise("less", {end, n.l().number(0, i64)}), end});
      most[i] = INT64_MAX;
    }
    end = n.l().pointwise("minimum", {end, there});
    const Operand count = n.l().pointwise("maximum", {n.l().pointwise("sub", {end, number(starts[i])}), number(0)});
    out = Ragged{d, n.l().value(count)};
  }
  n.c.inputs[2] = n.l().numbers(most);
  n.run();
  n.set(0, out);
}

// Places along an axis of `count` elements, none of them from the end any more.
Operand from_front(Lowering& l, const Operand& indices, const Operand& count) {
  const Operand wide = l.cast(whole(indices), i64);
  const Operand flat = l.reshape(wide, wide.type.shape.empty() ? Extents{1} : wide.type.shape);
  const Operand moved =
      l.pointwise("where", {l.pointwise("add", {flat, count}), l.pointwise("less", {flat, l.number(0, i64)}), flat});
  return l.reshape(moved, wide.type.shape);
}

void gather(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const Operand &x = n.in(0), &indices = n.in(1);
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", 0), x.rank()));
  std::optional<Ragged> out = on_axis(of_indices, static_cast<int64_t>(axis));
  if (of_data && of_data->axis != axis)
    agree(&out, on_axis(of_data, of_data->axis < axis ? 0 : static_cast<int64_t>(indices.rank()) - 1));
  const auto known = n.l().data_of(indices);
  const std::vector<int64_t> places = known ? known->numbers() : std::vector<int64_t>{-1};
  const bool may_be_from_end = std::any_of(places.begin(), places.end(), [](int64_t i) { return i < 0; });
  if (of_data && of_data->axis == axis && may_be_from_end)
    n.c.inputs[1] = from_front(n.l(), indices, {of_data->count, {i64, {1}}});
  n.run();
  n.set(0, out);
}

void gather_nd(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const Operand& indices = n.in(1);
  HONE_USER_CHECK(!of_indices || of_indices->axis + 1 < indices.rank())
      << "how many coordinates there are is known only when it runs";
  const int64_t batch = n.c.number("batch_dims", 0), depth = indices.type.shape.back() + batch,
                at = of_data ? static_cast<int64_t>(of_data->axis) : depth;
  HONE_USER_CHECK(at >= batch) << "how many batches there are is known only when it runs";
  std::optional<Ragged> out = of_indices;
  if (at >= depth) {
    agree(&out, on_axis(of_data, static_cast<int64_t>(indices.rank()) - 1 - depth));
  } else {
    // One of the coordinates is a place along the ragged axis.
    std::vector<Operand> counts;
    for (int64_t d = batch; d < depth; ++d)
      counts.push_back(d == at ? Operand{of_data->count, {i64, {1}}} : n.l().numbers({0}));
    n.c.inputs[1] = from_front(n.l(), indices, n.l().concat(counts, 0));
  }
  n.run();
  n.set(0, out);
}

void gather_elements(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", 0), n.in(0).rank()));
  HONE_USER_CHECK(!of_data || of_data->axis == axis || of_data == of_indices)
      << "extents that are known only when it runs meet, and may be different ones";
  if (of_data && of_data->axis == axis) n.c.inputs[1] = from_front(n.l(), n.in(1), {of_data->count, {i64, {1}}});
  n.run();
  n.set(0, of_indices);
}

TensorData extreme(DType t, bool lowest) {
  if (t.is_float()) {
    const double v = lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return TensorData({f64, {}}, std::string(reinterpret_cast<const char*>(&v), sizeof(v)));
  }
  const bool is_signed = t.code == TypeCode::kInt;
  const int bits = t.bytes() * 8;
  const uint64_t sign = uint64_t{1} << (bits - 1), all = sign | (sign - 1);
  const uint64_t v = is_signed ? (lowest ? ~(sign - 1) : sign - 1) : (lowest ? 0 : all);
  return TensorData::of_numbers({static_cast<int64_t>(v)}, t).reshaped({});
}

// Behind the elements, what is taken last.
Operand with_worst(const RaggedNode& n, const Operand& x, bool lowest) {
  return filled(n.l(), x, n.l().cast(n.l().constant(extreme(x.type.dtype, lowest)), x.type.dtype));
}

void top_k(const RaggedNode& n) {
  const Operand& x = n.in(0);
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", -1), x.rank()));
  const auto r = n.ragged(0);
  const bool is_open = n.has(1) && is_counted(n.given[1]);
  if (r && r->axis == axis) n.c.inputs[0] = with_worst(n, x, n.c.number("largest", 1) != 0);
  if (is_open) {
    HONE_USER_CHECK(!r || r->axis == axis) << "two extents are known only when it runs";
    // It may be said to be more than there can be elements.
    std::vector<int64_t> k = n.in(1).known->numbers();
    HONE_USER_CHECK(k.size() == 1) << "its k has " << k.size() << " elements";
    n.c.inputs[1] = n.l().numbers({std::min(k[0], x.type.shape[axis])});
    n.run();
    // No more than there are.
    const Operand asked{n.number_at(n.in(1), 0), {i64, {1}}};
    const Operand there = r ? Operand{r->count, {i64, {1}}} : n.l().numbers({x.type.shape[axis]});
    return n.set_all(Ragged{axis, n.required(asked.id, n.l().pointwise("less_equal", {asked, there}))});
  }
  n.run();
  if (!r || r->axis != axis) return n.set_all(r);
  const Operand k = n.l().numbers({n.c.outputs[0].type.shape[axis]});
  n.set_all(Ragged{axis, n.l().value(n.l().pointwise("minimum", {{r->count, {i64, {1}}}, k}))});
}

// The axes that a reduction goes over; all where none are given.
std::vector<bool> reduced_axes(const RaggedNode& n) {
  const size_t rank = n.in(0).rank();
  std::optional<Extents> axes = n.c.numbers("axes");
  if (!axes && n.has(1)) axes = n.c.constant_numbers(1, "axes");
  const bool takes_none = (!axes || axes->empty()) && n.c.number("noop_with_empty_axes", 0) != 0;
  std::vector<bool> out(rank, (!axes || axes->empty()) && !takes_none);
  for (const int64_t a : axes.value_or(Extents{})) out[static_cast<size_t>(NodeContext::axis_of(a, rank))] = true;
  return out;
}

void reduction(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (!r) return n.run();
  const std::string& op = n.c.node.op_type();
  const Operand& x = n.in(0);
  const std::vector<bool> goes = reduced_axes(n);
  if (!goes[r->axis]) {
    n.run();
    const auto before = std::count(goes.begin(), goes.begin() + static_cast<std::ptrdiff_t>(r->axis), true);
    return n.set(0, on_axis(r, n.c.number("keepdims", 1) ? 0 : -before));
  }
  if (op == "ReduceMax" || op == "ReduceLogSumExp")
    n.c.inputs[0] = with_worst(n, x, true);
  else if (op == "ReduceMin")
    n.c.inputs[0] = with_worst(n, x, false);
  else if (op == "ReduceProd")
    n.c.inputs[0] = filled(n.l(), x, n.l().number(1, x.type.dtype));
  else
    n.c.inputs[0] = filled_with_zeros(n.l(), x);
  n.run();
  if (op != "ReduceMean") return;
  // The row divides by all that there may be.
  const DType t = x.type.dtype;
  HONE_USER_CHECK(t.is_float()) << "a mean of " << to_string(t) << " of which only a call knows how many there are";
  const Operand count = n.l().cast({r->count, {i64, {1}}}, t);
  const Operand scale =
      n.l().pointwise("div", {n.l().reshape(n.l().number(static_cast<double>(x.type.shape[r->axis]), t), {1}), count});
  const Extents shape = n.c.outputs[0].type.shape;
  n.c.outputs[0] = n.l().reshape(
      n.l().pointwise("mul", {n.l().reshape(n.c.outputs[0], shape.empty() ? Extents{1} : shape), scale}), shape);
}

void arg_extreme(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (!r) return n.run();
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", 0), n.in(0).rank()));
  if (r->axis == axis) {
    HONE_USER_CHECK(n.c.number("select_last_index", 0) == 0) << "the last one of what is known only when it runs";
    n.c.inputs[0] = with_worst(n, n.in(0), n.c.node.op_type() == "ArgMax");
    return n.run();
  }
  n.run();
  n.set(0, on_axis(r, r->axis > axis && !n.c.number("keepdims", 1) ? -1 : 0));
}

void softmax(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis =
      static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", n.c.opset < 13 ? 1 : -1), n.in(0).rank()));
  if (r && (r->axis == axis || (n.c.opset < 13 && r->axis > axis))) n.c.inputs[0] = with_worst(n, n.in(0), true);
  n.run();
  n.set(0, r);
}

void expand(const RaggedNode& n) {
  const bool is_counted_shape = is_counted(n.given[1]);
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
  if (!is_counted(n.given[1]) || is_counted(n.given[0]) || is_counted(n.given[2])) return n.run();
  const Operand& limit = n.in(1);
  const std::vector<double> step = n.c.constant(2, "step").values();
  HONE_USER_CHECK(step.size() == 1 && step[0] == 1) << "a limit that is known only when it runs, by steps other than 1";
  n.run_with_most(1);
  const Operand start = n.l().reshape(n.l().cast(n.c.in(0), i64), {1}), end{n.number_at(limit, 0), {i64, {1}}};
  n.set(0,
        Ragged{0, n.l().value(n.l().pointwise("maximum", {n.l().pointwise("sub", {end, start}), n.l().numbers({0})}))});
}

void product(const RaggedNode& n) {
  const auto of_a = n.ragged(0), of_b = n.ragged(1);
  const Operand &a = n.in(0), &b = n.in(1);
  HONE_USER_CHECK(a.rank() >= 2 && b.rank() >= 2) << to_string(a.type) << " times " << to_string(b.type);
  const bool sums_a = of_a && of_a->axis + 1 == a.rank(), sums_b = of_b && of_b->axis + 2 == b.rank();
  // What is behind the elements would be added, and need not be finite.
  if (sums_a || sums_b)
    for (size_t i : {size_t{0}, size_t{1}}) {
      Operand x = n.in(i);
      if (!x.ragged) x.ragged = Ragged{x.rank() - (i == 0 ? 1 : 2), (sums_a ? of_a : of_b)->count};
      if (x.ragged->axis == x.rank() - (i == 0 ? 1 : 2)) n.c.inputs[i] = filled_with_zeros(n.l(), x);
    }
  n.run();
  const size_t rank = n.c.outputs[0].rank();
  std::optional<Ragged> out;
  if (of_a && !sums_a) agree(&out, on_axis(of_a, static_cast<int64_t>(rank - a.rank())));
  if (of_b && !sums_b) agree(&out, on_axis(of_b, static_cast<int64_t>(rank - b.rank())));
  for (const auto& [x, r, sums] : {std::tuple(&a, of_a, sums_a), std::tuple(&b, of_b, sums_b)})
    HONE_USER_CHECK(!r || sums || x->type.shape[r->axis] == n.c.outputs[0].type.shape[r->axis + rank - x->rank()])
        << "an extent that is known only when it runs is broadcast";
  n.set(0, out);
}

// Rows of the first input by themselves.
void by_rows(const RaggedNode& n) {
  for (size_t i = 1; i < n.given.size(); ++i)
    HONE_USER_CHECK(!n.ragged(i)) << "the extent of its input " << i << " is known only when it runs";
  const auto r = n.ragged(0);
  HONE_USER_CHECK(!r || r->axis == 0) << "the extent of axis " << r->axis << " is known only when it runs";
  n.run();
  HONE_USER_CHECK(!r || n.c.outputs[0].type.shape.at(0) == n.in(0).type.shape[0])
      << "it changes how many rows there are, which is known only when it runs";
  n.set_all(r);
}

// As many as regions.
void regions(const RaggedNode& n) {
  HONE_USER_CHECK(!n.ragged(0)) << "how many images there are is known only when it runs";
  std::optional<Ragged> r = n.ragged(1);
  agree(&r, n.ragged(2));
  HONE_USER_CHECK(!r || r->axis == 0) << "the extent of axis " << r->axis << " is known only when it runs";
  n.run();
  n.set(0, r);
}

void gemm(const RaggedNode& n) {
  HONE_USER_CHECK(!n.ragged(0) || n.c.number("transA", 0) == 0)
      << "an extent of what is transposed is known only when it runs";
  by_rows(n);
}

void norm(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", -1), n.in(0).rank()));
  HONE_USER_CHECK(!r || r->axis < axis) << "the extent of a normalized axis is known only when it runs";
  n.run();
  n.set_all(r);
}

void split(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.number("axis", 0), n.in(0).rank()));
  HONE_USER_CHECK(!r || r->axis != axis) << "it splits an axis whose extent is known only when it runs";
  n.run();
  n.set_all(r);
}

void running_sum(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(NodeContext::axis_of(n.c.constant_number(1, "axis"), n.in(0).rank()));
  HONE_USER_CHECK(!r || r->axis != axis || n.c.number("reverse", 0) == 0)
      << "backwards along an axis whose extent is known only when it runs";
  n.run();
  n.set(0, r);
}

// These look at what is ragged themselves.
void as_given(const RaggedNode& n) {
  n.c.inputs = n.given;
  n.run();
}

// Operators that keep the order of numbers: of the least and of the most that a call may find out they make the least
// and the most. `Sub` and `Div` for their first operand.
const std::unordered_set<std::string_view>& ordered() {
  static const std::unordered_set<std::string_view> all = {
      "Add",     "Mul",    "Min",   "Max",       "Cast",      "Identity",  "Gather",     "Unsqueeze",
      "Squeeze", "Concat", "Slice", "ReduceMin", "ReduceMax", "ReduceSum", "ReduceProd", "Transpose",
      "Reshape", "Sub",    "Div",   "Split",     "Flatten",   "Expand"};
  return all;
}

// What is known of the outputs of a node on such numbers.
void bound_outputs(const RaggedNode& n) {
  const std::string& op = n.c.node.op_type();
  if (!ordered().contains(op)) return;
  const bool is_turned = op == "Sub" || op == "Div";
  const auto at_end = [&](bool most) -> std::optional<std::vector<TensorData>> {
    NodeContext end{n.c.node, n.c.opset, {}, n.c.outputs, n.c.l, n.c.is_wanted};
    double sum = 0, product = 1;  // of all numbers: no result is larger
    for (size_t i = 0; i < n.given.size(); ++i) {
      const auto& x = n.given[i];
      if (!x) {
        end.inputs.push_back(std::nullopt);
        continue;
      }
      // Of places, one that is larger gives another number, a larger or a smaller one.
      if (x->ragged || (op == "Gather" && i == 1 && x->least)) return std::nullopt;
      const bool takes_most = is_turned && i == 1 ? !most : most;
      const auto data = x->least ? takes_most ? x->known : x->least : n.l().data_of(*x);
      if (!data || !data->type().dtype.is_integer()) return std::nullopt;
      const std::vector<int64_t> numbers = data->numbers();
      const bool is_negative = std::any_of(numbers.begin(), numbers.end(), [](int64_t v) { return v < 0; });
      const bool has_zero = std::any_of(numbers.begin(), numbers.end(), [](int64_t v) { return v == 0; });
      if (is_negative && (op == "Mul" || op == "Div" || op == "ReduceProd")) return std::nullopt;
      if (has_zero && op == "Div" && i == 1) return std::nullopt;
      for (const int64_t v : numbers) {
        const double size = std::abs(static_cast<double>(v));
        sum += size;
        product *= std::max(1.0, size);
      }
      end.inputs.push_back(n.l().constant(*data));
    }
    n.row(end);
    std::vector<TensorData> out;
    for (const Operand& x : end.outputs) {
      const auto data = n.l().data_of(x);
      if (!data || !data->type().dtype.is_integer()) return std::nullopt;
      // Nothing may overflow.
      if (std::max(sum, product) >= std::ldexp(1.0, data->type().dtype.bytes() * 8 - 2)) return std::nullopt;
      out.push_back(*data);
    }
    return out;
  };
  const auto least = at_end(false), most = at_end(true);
  if (!least || !most) return;
  for (size_t o = 0; o < n.c.outputs.size(); ++o) {
    Operand& x = n.c.outputs[o];
    if (x.ragged || x.is_empty() || n.l().data_of(x) || (*least)[o].type() != x.type) continue;
    x.least = (*least)[o];
    x.known = (*most)[o];
  }
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> all = [] {
    std::unordered_map<std::string_view, Rule> t = {
        {"Identity", &pointwise},
        {"Dropout", &pointwise},
        {"Shape", &shape},
        {"Size", &size},
        {"ConstantOfShape", &constant_of_shape},
        {"Reshape", &reshape},
        {"Flatten", &flatten},
        {"Squeeze", &squeeze},
        {"Unsqueeze", &unsqueeze},
        {"Transpose", &transpose},
        {"Concat", &concat},
        {"Slice", &slice},
        {"Gather", &gather},
        {"GatherND", &gather_nd},
        {"GatherElements", &gather_elements},
        {"TopK", &top_k},
        {"ArgMax", &arg_extreme},
        {"ArgMin", &arg_extreme},
        {"Softmax", &softmax},
        {"LogSoftmax", &softmax},
        {"Expand", &expand},
        {"Range", &range},
        {"MatMul", &product},
        {"Gemm", &gemm},
        {"LayerNormalization", &norm},
        {"RMSNormalization", &norm},
        {"RoiAlign", &regions},
        {"Split", &split},
        {"CumSum", &running_sum},
        {"NonZero", &as_given},
        {"Compress", &as_given},
        {"NonMaxSuppression", &as_given},
        {"Unique", &as_given},
    };
    for (const char* op :
         {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization",
          "InstanceNormalization", "GroupNormalization", "Resize", "DepthToSpace", "SpaceToDepth"})
      t[op] = &by_rows;
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                           "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
      t[op] = &reduction;
    return t;
  }();
  return all;
}

// Operators whose inputs behind the first say how, and those of which all do.
const std::unordered_set<std::string_view>& takes_numbers() {
  static const std::unordered_set<std::string_view> all = {
      "Reshape",    "Expand",   "Slice",     "Squeeze",         "Unsqueeze",    "TopK",
      "Split",      "CumSum",   "ReduceSum", "ReduceMean",      "ReduceMax",    "ReduceMin",
      "ReduceProd", "ReduceL1", "ReduceL2",  "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
  return all;
}
const std::unordered_set<std::string_view>& takes_numbers_only() {
  static const std::unordered_set<std::string_view> all = {"ConstantOfShape", "Range"};
  return all;
}

const RowTable& pointwise_rows() {
  static const RowTable table = [] {
    RowTable t;
    add_pointwise_rows(t);
    return t;
  }();
  return table;
}

}  // namespace

bool is_ragged(const NodeContext& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(),
                     [](const std::optional<Operand>& x) { return x && (x->ragged || x->least); });
}

void run_ragged(NodeContext& c, Row row) {
  const std::string& op = c.node.op_type();
  const bool is_own = c.node.domain().empty() || c.node.domain() == "ai.onnx";
  const auto known = is_own ? rules().find(op) : rules().end();
  Rule rule = known != rules().end() ? known->second : nullptr;
  if (!rule && is_own && pointwise_rows().contains(":" + op)) rule = &pointwise;
  for (size_t i = 0; i < c.inputs.size() && !rule; ++i)
    HONE_USER_CHECK(!c.inputs[i] || !c.inputs[i]->ragged)
        << "an extent of its input " << i << " is known only when it runs, which is not supported";
  // Of numbers that a call finds out it reads the elements alone.
  if (!rule) return row(c);
  // Axes, shapes and the like: a row would take them for as many as there may be.
  const size_t first = takes_numbers_only().contains(op) ? 0 : 1;
  for (size_t i = first; i < c.inputs.size() && (first == 0 || takes_numbers().contains(op)); ++i)
    HONE_USER_CHECK(!c.inputs[i] || !c.inputs[i]->ragged)
        << "how many numbers its input " << i << " has is known only when it runs";
  const RaggedNode n(c, row);
  rule(n);
  if (rule != &as_given && rule != &shape && rule != &size) bound_outputs(n);
}

}  // namespace hone::onnx
