#include "compiler/frontend/lowering/ragged.h"

#include <algorithm>
#include <limits>

#include "compiler/frontend/lowering/sequences.h"
#include "compiler/ir/layout.h"

namespace hone::frontend {

Operand with_extent(Lowering& l, const Operand& x, size_t axis, ValueId count) {
  Operand out = whole(x);
  if (const TensorData* known = l.b.constant_of(count)) {
    Extents size = x.type.shape;
    size[axis] = known->numbers().at(0);
    return l.slice(out, Extents(x.rank(), 0), Extents(x.rank(), 1), size);
  }
  out.ragged = Ragged{axis, count};
  return out;
}

Operand whole(Operand x) {
  x.ragged.reset();
  return x;
}

Operand is_there(Lowering& l, size_t axis, ValueId count, int64_t n, size_t rank) {
  const Operand mask = l.once({kIsThere, count, n}, [&] {
    HONE_USER_CHECK(l.may_make(element_count({n, 8}))) << n << " places";
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < n; ++i) positions.push_back(i);
    return l.pointwise("less", {l.numbers(positions), {count, {i64, {1}}}});
  });
  Extents along(rank, 1);
  along[axis] = n;
  return l.reshape(mask, along);
}

Operand filled(Lowering& l, const Operand& x, const Operand& filler) {
  if (!x.ragged || x.is_empty()) return whole(x);
  const Operand there = is_there(l, x.ragged->axis, x.ragged->count, x.type.shape[x.ragged->axis], x.rank());
  if (x.type.dtype.is_bool()) {
    // There is no `where` of bools.
    const Operand mine = l.pointwise("and", {whole(x), l.broadcast(there, x.type.shape)});
    const Operand others =
        l.pointwise("and", {l.pointwise("not", {l.broadcast(there, x.type.shape)}), l.broadcast(filler, x.type.shape)});
    return l.pointwise("or", {mine, others});
  }
  return l.pointwise("where", {whole(x), there, filler});
}

Operand filled_with_zeros(Lowering& l, const Operand& x) {
  const std::string zero(static_cast<size_t>(x.type.dtype.bytes()), '\0');
  return filled(l, x, l.constant(TensorData({x.type.dtype, {}}, zero)));
}

namespace {

// The number of elements along the axis, s64[1].
Operand extent_along(Lowering& l, const Operand& x, size_t axis) {
  if (x.ragged && x.ragged->axis == axis) return {x.ragged->count, {i64, {1}}};
  return l.numbers({x.type.shape[axis]});
}

// x with elements of zero behind it along the axis, up to n.
Operand extended(Lowering& l, const Operand& x, size_t axis, int64_t n) {
  Extents more = x.type.shape;
  more[axis] = n - more[axis];
  if (more[axis] == 0) return whole(x);
  const std::string zero(static_cast<size_t>(x.type.dtype.bytes()), '\0');
  const Operand zeros = l.broadcast(l.constant(TensorData({x.type.dtype, {}}, zero)), more);
  return l.concat({whole(x), zeros}, static_cast<int64_t>(axis));
}

Operand either(Lowering& l, const Operand& condition, const Operand& a, const Operand& b) {
  if (a.is_empty()) return a;
  const Operand one = l.reshape(condition, Extents(std::max<size_t>(1, a.rank()), 1));
  if (!a.type.dtype.is_bool()) return l.reshape(l.pointwise("where", {a, one, b}), a.type.shape);
  const Operand all = l.broadcast(one, a.type.shape.empty() ? Extents{1} : a.type.shape);
  const Operand of_a = l.pointwise("and", {all, l.reshape(a, all.type.shape)});
  const Operand of_b = l.pointwise("and", {l.pointwise("not", {all}), l.reshape(b, all.type.shape)});
  return l.reshape(l.pointwise("or", {of_a, of_b}), a.type.shape);
}

}  // namespace

Operand chosen(Lowering& l, const Operand& condition, const Operand& a, const Operand& b) {
  if (a.sequence && b.sequence && a.sequence->size() == b.sequence->size()) {
    Sequence elements;
    for (size_t i = 0; i < a.sequence->size(); ++i) {
      elements.push_back(chosen(l, condition, (*a.sequence)[i], (*b.sequence)[i]));
      HONE_USER_CHECK(!elements.back().ragged) << "the extent of an element is known only when it runs";
    }
    return of_elements(l, std::move(elements));
  }
  HONE_USER_CHECK(!a.sequence && !b.sequence) << "the length of a sequence is known only when it runs";
  HONE_USER_CHECK(!a.is_nothing && !b.is_nothing) << "whether an optional holds something is known only when it runs";
  HONE_USER_CHECK(a.type.dtype == b.type.dtype && a.rank() == b.rank())
      << to_string(a.type) << " or " << to_string(b.type) << ", which is known only when it runs";
  // The axis in which they differ.
  std::optional<size_t> axis;
  const auto differ_in = [&](size_t d) {
    HONE_USER_CHECK(!axis || *axis == d) << to_string(a.type) << " or " << to_string(b.type)
                                         << ": two extents are known only when it runs";
    axis = d;
  };
  for (size_t d = 0; d < a.rank(); ++d)
    if (a.type.shape[d] != b.type.shape[d]) differ_in(d);
  // The same of both, unless they differ already.
  if (a.ragged != b.ragged || axis)
    for (const Operand* x : {&a, &b})
      if (x->ragged) differ_in(x->ragged->axis);
  if (!axis) {
    Operand out = either(l, condition, whole(a), whole(b));
    out.ragged = a.ragged;
    return out;
  }
  const int64_t n = std::max(a.type.shape[*axis], b.type.shape[*axis]);
  const Operand count = either(l, condition, extent_along(l, a, *axis), extent_along(l, b, *axis));
  return with_extent(l, either(l, condition, extended(l, a, *axis, n), extended(l, b, *axis, n)), *axis,
                     l.value(count));
}

Operand positions_of_true(Lowering& l, const Operand& mask) {
  const auto make = [&] {
    const int64_t n = element_count(mask.type.shape);
    const std::vector<ValueId> made = l.b.add("nonzero", {}, {l.as(filled_with_zeros(l, mask), {n})});
    return with_extent(l, {made[0], {i64, {n}}}, 0, made[1]);
  };
  std::vector<int64_t> key{kPositions, mask.id};
  if (mask.ragged) {
    key.insert(key.end(), {mask.ragged->count, static_cast<int64_t>(mask.ragged->axis)});
    key.insert(key.end(), mask.type.shape.begin(), mask.type.shape.end());
  }
  return l.once(key, make);
}

std::vector<Operand> coordinates_of(Lowering& l, const Operand& positions, const Extents& shape) {
  std::vector<Operand> out;
  int64_t stride = element_count(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    stride /= shape[d];
    Operand along = whole(positions);
    if (stride > 1) along = l.pointwise("div", {along, l.number(static_cast<double>(stride), i64)});
    if (d > 0) along = l.pointwise("mod", {along, l.number(static_cast<double>(shape[d]), i64)});
    out.push_back(along);
  }
  return out;
}

}  // namespace hone::frontend
