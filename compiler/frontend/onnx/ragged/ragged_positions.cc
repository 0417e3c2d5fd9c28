// Rules of operators that take elements by their places: slices, parts, indices.
#include <algorithm>

#include "compiler/frontend/onnx/ragged/ragged_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

void concat(const RaggedNode& n) {
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", 0), n.in(0).rank()));
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
  const Operand positions = positions_of_true(n.l(), n.l().once(key, [&] { return n.l().concat(masks, 0); }));
  n.c.outputs[0] =
      n.l().add("gather", {{"axis", std::to_string(axis)}}, {n.l().value(all), n.l().value(positions)}, all.type.shape);
  n.set(0, Ragged{axis, positions.ragged->count});
}

// A slice of a ragged axis, or one whose end is found at run time: from a known start, by steps of 1.
void slice(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (n.c.opset < 10) {
    HONE_USER_CHECK(!r) << "before opset 10 of what is known only when it runs";
    return n.run();
  }
  const Operand &x = n.in(0), &given_ends = n.in(2);
  const bool is_open = n.is_counted(2);
  for (size_t i : {size_t{1}, size_t{3}, size_t{4}})
    HONE_USER_CHECK(!n.is_counted(i)) << "its "
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
    const auto d = static_cast<size_t>(axis_of(axes[i], x.rank()));
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

void gather(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const Operand &x = n.in(0), &indices = n.in(1);
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", 0), x.rank()));
  std::optional<Ragged> out = on_axis(of_indices, static_cast<int64_t>(axis));
  if (of_data && of_data->axis != axis)
    agree(&out, on_axis(of_data, of_data->axis < axis ? 0 : static_cast<int64_t>(indices.rank()) - 1));
  const auto known = n.l().data_of(indices);
  const std::vector<int64_t> positions = known ? known->numbers() : std::vector<int64_t>{-1};
  const bool may_be_from_end = std::any_of(positions.begin(), positions.end(), [](int64_t i) { return i < 0; });
  if (of_data && of_data->axis == axis && may_be_from_end)
    n.c.inputs[1] = n.l().from_front(whole(indices), {of_data->count, {i64, {1}}});
  n.run();
  n.set(0, out);
}

// How many coordinates GatherND's and ScatterND's indices have: no more than there are axes.
int64_t coordinates_of(const RaggedNode& n) {
  const TensorType& indices = n.in(1).type;
  HONE_USER_CHECK(!indices.shape.empty() && indices.shape.back() <= static_cast<int64_t>(n.in(0).rank()))
      << to_string(indices) << " are indices of " << to_string(n.in(0).type);
  return indices.shape.back();
}

void gather_nd(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const Operand& indices = n.in(1);
  HONE_USER_CHECK(!of_indices || of_indices->axis + 1 < indices.rank())
      << "how many coordinates there are is known only when it runs";
  const int64_t batch = n.c.number("batch_dims", 0), depth = coordinates_of(n) + batch,
                at = of_data ? static_cast<int64_t>(of_data->axis) : depth;
  HONE_USER_CHECK(at >= batch) << "how many batches there are is known only when it runs";
  std::optional<Ragged> out = of_indices;
  if (at >= depth) {
    agree(&out, on_axis(of_data, static_cast<int64_t>(indices.rank()) - 1 - depth));
  } else {
    // One of the coordinates is a position along the ragged axis.
    std::vector<Operand> counts;
    for (int64_t d = batch; d < depth; ++d)
      counts.push_back(d == at ? Operand{of_data->count, {i64, {1}}} : n.l().numbers({0}));
    n.c.inputs[1] = n.l().from_front(whole(indices), n.l().concat(counts, 0));
  }
  n.run();
  n.set(0, out);
}

void gather_elements(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", 0), n.in(0).rank()));
  HONE_USER_CHECK(!of_data || of_data->axis == axis || of_data == of_indices)
      << "extents that are known only when it runs meet, and may be different ones";
  if (of_data && of_data->axis == axis) n.c.inputs[1] = n.l().from_front(whole(n.in(1)), {of_data->count, {i64, {1}}});
  n.run();
  n.set(0, of_indices);
}

// Filler behind the updates is not written: the converter gets the indices' run-time extent and skips it.
void scatter(const RaggedNode& n) {
  const auto of_data = n.ragged(0), of_indices = n.ragged(1);
  const bool is_by_rows = n.c.node.op_type() == "ScatterND";
  const int64_t depth = is_by_rows ? coordinates_of(n) : 0;
  HONE_USER_CHECK(of_indices == n.ragged(2) && (!of_indices || !is_by_rows || of_indices->axis + 1 < n.in(1).rank()))
      << "extents that are known only when it runs meet, and may be different ones";
  if (of_data) {
    const auto at = static_cast<int64_t>(of_data->axis);
    if (is_by_rows) {
      HONE_USER_CHECK(at < depth) << "the extent of what it replaces is known only when it runs";
      std::vector<Operand> counts;
      for (int64_t d = 0; d < depth; ++d)
        counts.push_back(d == at ? Operand{of_data->count, {i64, {1}}} : n.l().numbers({0}));
      n.c.inputs[1] = n.l().from_front(whole(n.in(1)), n.l().concat(counts, 0));
    } else if (at == axis_of(n.c.number("axis", 0), n.in(0).rank())) {
      n.c.inputs[1] = n.l().from_front(whole(n.in(1)), {of_data->count, {i64, {1}}});
    }
  }
  if (of_indices) n.c.inputs[1]->ragged = of_indices;
  n.run();
  n.set(0, of_data);
}

void split(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", 0), n.in(0).rank()));
  HONE_USER_CHECK(!r || r->axis != axis) << "it splits an axis whose extent is known only when it runs";
  n.run();
  n.set_all(r);
}

}  // namespace

void add_position_rules(RuleTable& t) {
  t["Concat"] = &concat;
  t["Slice"] = &slice;
  t["Split"] = &split;
  t["Gather"] = &gather;
  t["GatherND"] = &gather_nd;
  t["GatherElements"] = &gather_elements;
  for (const char* op : {"Scatter", "ScatterElements", "ScatterND"}) t[op] = &scatter;
}

}  // namespace hone::onnx
