// Rules of operators that move elements: a run's elements move alike in all runs. When runs lie along an axis that is
// cut, extended or joined, they get an axis of their own in front of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/graph/batch/rules.h"
#include "compiler/ops/attributes/split_text.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

std::string numbers_text(const Extents& numbers) { return fmt::format("{}", fmt::join(numbers, ":")); }

void reshape(BatchedNode& n) {
  n.out[0] = n.stack.seen(n.in[0], n.one(), std::nullopt, n.graph.value(n.node.outputs[0]).name);
}

void transpose(BatchedNode& n) {
  const Extents& perm = n.extents("perm");
  const auto position = std::find(perm.begin(), perm.end(), static_cast<int64_t>(*n.in[0].axis));
  n.give(n.call({}, {n.in[0]}), n.one(), static_cast<size_t>(position - perm.begin()));
}

void broadcast(BatchedNode& n) {
  const size_t axis = *n.in[0].axis;
  const bool stays = n.in[0].one[axis] == n.one()[axis];
  const Stacked x = stays ? n.in[0] : n.stack.apart(n.in[0], axis);
  const Extents made = stays ? n.one() : with(n.one(), axis, 1);
  n.give(n.call({{"to", text_of_extents(n.stack.all(made, axis))}}, {x}), made, axis);
}

void concat(BatchedNode& n) {
  const auto along = static_cast<size_t>(n.attributes().number("axis"));
  std::optional<size_t> axis;
  for (const Stacked& x : n.in)
    if (x.axis && (!axis || *axis == along)) axis = x.axis;
  const bool is_apart = *axis == along;
  std::vector<Stacked> parts;
  for (const Stacked& x : n.in) parts.push_back(is_apart ? n.stack.apart(x, *axis) : n.stack.at(x, *axis));
  n.give(n.call({{"axis", std::to_string(along + is_apart)}}, parts), is_apart ? with(n.one(), *axis, 1) : n.one(),
         *axis);
}

void slice(BatchedNode& n) {
  const size_t axis = *n.in[0].axis;
  Extents begin = n.extents("begin"), step = n.extents("step"), size = n.extents("size");
  const int64_t extent = n.in[0].one[axis];
  if (extent == 1) step[axis] = 1;
  const bool stays = begin[axis] == 0 && step[axis] == 1 && size[axis] == extent;
  if (!stays) begin = with(begin, axis, 0), step = with(step, axis, 1), size = with(size, axis, 1);
  const Stacked x = stays ? n.in[0] : n.stack.apart(n.in[0], axis);
  n.give(n.call({{"begin", numbers_text(begin)},
                 {"step", numbers_text(step)},
                 {"size", text_of_extents(n.stack.all(size, axis))}},
                {x}),
         size, axis);
}

void pad(BatchedNode& n) {
  const size_t axis = *n.in[0].axis;
  Extents before = n.extents("before"), after = n.extents("after");
  const bool stays = before[axis] == 0 && after[axis] == 0;
  if (!stays) before = with(before, axis, 0), after = with(after, axis, 0);
  const Stacked x = stays ? n.in[0] : n.stack.apart(n.in[0], axis);
  n.give(n.call({{"before", numbers_text(before)}, {"after", numbers_text(after)}}, {x}),
         stays ? n.one() : with(n.one(), axis, 1), axis);
}

void resize(BatchedNode& n) {
  const size_t axis = *n.in[0].axis;
  const bool stays =
      n.in[0].one[axis] == n.one()[axis] && split_text(n.attributes().text("scales"), ':')[axis] == "1/1";
  HONE_USER_CHECK(stays) << "it resizes the axis along which images lie";
  n.give(n.call({{"size", text_of_extents(n.stack.all(n.one(), axis))}}, {n.in[0]}), n.one(), axis);
}

}  // namespace

void add_movement_rules(BatchRules& t) {
  t["reshape"] = &reshape;
  t["transpose"] = &transpose;
  t["broadcast"] = &broadcast;
  t["concat"] = &concat;
  t["slice"] = &slice;
  t["pad"] = &pad;
  t["resize"] = &resize;
}

}  // namespace hone
