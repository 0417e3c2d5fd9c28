// Rules of functions of elements, and of operators over rows: where runs lie along an axis of the rows, they get one of
// their own in front of it.
#include <absl/strings/str_join.h>

#include <algorithm>

#include "compiler/graph/batch/rules.h"
#include "compiler/ops/by_row/reduce.h"
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

// Operands are broadcast, so one that all runs share stays as it is if it has one element along the runs' axis.
void elementwise(BatchedNode& n) {
  const Extents& one = n.one();
  std::optional<size_t> axis;
  for (const Stacked& x : n.in)
    if (x.axis && (!axis || (one[*axis] > 1 && one[*x.axis] == 1))) axis = x.axis;
  const bool fits = std::all_of(n.in.begin(), n.in.end(),
                                [&](const Stacked& x) { return x.one[*axis] == (x.axis ? one[*axis] : 1); });
  std::vector<Stacked> inputs;
  for (const Stacked& x : n.in)
    inputs.push_back(fits ? (x.axis ? n.stack.at(x, *axis) : x)
                          : (x.axis ? n.stack.apart(x, *axis) : n.stack.seen(x, with(x.one, *axis, 1))));
  n.give(n.call({}, inputs), fits ? one : with(one, *axis, 1), *axis);
}

void reduce(BatchedNode& n) {
  const ReduceShape& s = reduce_shape(n.node.workload);
  const size_t axis = *n.in[0].axis;
  const auto is_reduced = [&](size_t d) {
    return std::find(s.axes.begin(), s.axes.end(), static_cast<int64_t>(d)) != s.axes.end();
  };
  const bool is_apart = is_reduced(axis);
  const Stacked x = is_apart ? n.stack.apart(n.in[0], axis) : n.in[0];
  std::vector<size_t> axes;
  Extents made;
  size_t position = 0;
  for (size_t d = 0; d < x.one.size(); ++d) {
    const bool is_runs = d == axis, is_gone = is_reduced(is_apart && d > axis ? d - 1 : d) && !(is_apart && is_runs);
    if (is_runs) position = made.size();
    if (is_gone) axes.push_back(d);
    if (!is_gone || s.keepdims) made.push_back(is_gone ? 1 : x.one[d]);
  }
  n.give(n.call({{"axes", absl::StrJoin(axes, ":")}}, {x}), made, position);
}

// Its operand whose runs lie along the axes of a row, in front of these.
struct OverRows {
  Stacked x;
  size_t first;  // axis of a row
};
OverRows over_rows(BatchedNode& n) {
  const std::vector<size_t>& axes = rows_shape(n.node.workload).axes;
  const Stacked& x = n.in[0];
  const size_t first = axes.front();
  if (std::find(axes.begin(), axes.end(), *x.axis) == axes.end()) return {x, first};
  return {n.stack.apart(x, first), first + 1};
}

// softmax and norms: the result has the shape of the input.
void rows(BatchedNode& n) {
  std::vector<Stacked> inputs{n.in[0]};
  for (size_t i = 1; i < n.in.size(); ++i) {
    n.require_shared(i, "scale or bias");
    inputs.push_back(n.in[i]);
  }
  const OverRows r = over_rows(n);
  inputs[0] = r.x;
  n.give(n.call({{"axis", std::to_string(r.first)}}, inputs), r.x.one, *r.x.axis);
}

void arg_extreme(BatchedNode& n) {
  const OverRows r = over_rows(n);
  Extents made = r.x.one;
  const bool keeps = n.attributes().get<bool>("keepdims");
  made[r.first] = 1;
  if (!keeps) made.erase(made.begin() + static_cast<std::ptrdiff_t>(r.first));
  n.give(n.call({{"axis", std::to_string(r.first)}}, {r.x}), made, *r.x.axis - (!keeps && *r.x.axis > r.first ? 1 : 0));
}

void top_k(BatchedNode& n) {
  auto axis = static_cast<size_t>(n.attributes().number("axis"));
  Stacked x = n.in[0];
  if (*x.axis == axis) x = n.stack.apart(x, axis++);
  Extents made = x.one;
  made[axis] = n.attributes().number("k");
  n.give(n.call({{"axis", std::to_string(axis)}}, {x}), made, *x.axis);
}

}  // namespace

void add_row_rules(BatchRules& t) {
  for (const char* op : {"softmax", "log_softmax", "layer_norm", "rms_norm", "l2_norm"}) t[op] = &rows;
  for (const char* op : {"argmax", "argmin"}) t[op] = &arg_extreme;
  t["elementwise"] = &elementwise;
  t["reduce"] = &reduce;
  t["top_k"] = &top_k;
}

}  // namespace hone
