#include "compiler/graph/batch/stack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "compiler/ops/attributes/attribute.h"

namespace hone {
namespace {

// How many elements lie side by side in front of an axis.
int64_t before(const Extents& shape, size_t axis) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis), int64_t{1},
                         std::multiplies<>());
}

}  // namespace

Extents with(Extents extents, size_t axis, int64_t value) {
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis), value);
  return extents;
}

Extents Stack::all(Extents one, std::optional<size_t> axis) const {
  if (axis) one.at(*axis) *= runs_;
  return one;
}

Stacked Stack::seen(const Stacked& x, const Extents& to, std::optional<size_t> axis, const std::string& name) {
  const auto reshaped = [&](const Stacked& from, std::optional<size_t> at) {
    const Extents shape = all(to, at);
    const bool is_same = b.type(from.id).shape == shape;
    return Stacked{is_same ? from.id : b.reshape(from.id, shape, name), to, at};
  };
  if (!x.axis) return reshaped(x, std::nullopt);
  // Row-major: runs stay where they are along any axis with as many elements in front of it.
  const int64_t position = before(x.one, *x.axis);
  if (axis && before(to, *axis) == position) return reshaped(x, axis);
  for (size_t d = 0; !axis && d < to.size(); ++d)
    if (before(to, d) == position) return reshaped(x, d);
  // In front of everything there is a position for them in every shape.
  const Stacked front = reshaped(at(x, 0), 0);
  return axis ? at(front, *axis) : front;
}

Stacked Stack::at(const Stacked& x, size_t axis) {
  if (!x.axis) return repeated(x, axis);
  if (*x.axis == axis) return x;
  if (before(x.one, *x.axis) == before(x.one, axis)) return seen(x, x.one, axis);
  // As an axis of their own, the runs are moved in front of the other one.
  const Stacked own = seen(x, with(x.one, *x.axis, 1), *x.axis);
  Extents perm;
  for (size_t d = 0; d <= x.one.size(); ++d)
    if (d != *x.axis) perm.push_back(static_cast<int64_t>(d));
  perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<int64_t>(*x.axis));
  const Stacked moved{b.transpose(own.id, perm), with(x.one, axis, 1), axis};
  return seen(moved, x.one, axis);
}

Stacked Stack::apart(const Stacked& x, size_t axis) { return seen(at(x, axis), with(x.one, axis, 1), axis); }

Stacked Stack::repeated(const Stacked& x, size_t axis) {
  const Stacked own = seen(x, with(x.one, axis, 1));
  const ValueId all_runs = b.broadcast(own.id, all(own.one, axis));
  return seen({all_runs, own.one, axis}, x.one, axis);
}

}  // namespace hone
