#include "compiler/frontend/lowering/operators/positions.h"

#include "compiler/frontend/lowering/ragged.h"
#include "compiler/ir/layout.h"

namespace hone::frontend {

Operand positions_along(Lowering& l, int64_t count, size_t axis, size_t rank) {
  HONE_USER_CHECK(l.may_make(element_count({count, 8}))) << count << " places";
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(i);
  Extents shape(rank, 1);
  shape[axis] = count;
  return l.reshape(l.numbers(positions), shape);
}

Extents row_major_strides(const Extents& shape) {
  Extents out(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) out[d - 1] = out[d] * shape[d];
  return out;
}

Operand flat_positions(Lowering& l, const std::vector<Operand>& coordinates, const Extents& extents,
                       const std::optional<Ragged>& ragged) {
  const auto number = [&](int64_t v) { return l.number(static_cast<double>(v), i64); };
  const Extents strides = row_major_strides(extents);
  Operand flat, is_inside;
  for (size_t d = 0; d < coordinates.size(); ++d) {
    const Operand& at = coordinates[d];
    const Operand inside = l.pointwise(
        "and", {l.pointwise("greater_equal", {at, number(0)}), l.pointwise("less", {at, number(extents[d])})});
    const Operand part = strides[d] == 1 ? at : l.pointwise("mul", {at, number(strides[d])});
    flat = d ? l.pointwise("add", {flat, part}) : part;
    is_inside = d ? l.pointwise("and", {is_inside, inside}) : inside;
  }
  flat = l.pointwise("where", {flat, is_inside, number(-1)});
  flat.ragged = ragged;
  return filled(l, flat, number(-1));
}

Operand reversed_sequences(Lowering& l, const Operand& x, const Operand& lengths, size_t time, size_t batch) {
  HONE_USER_CHECK(time != batch && lengths.rank() == 1 && lengths.type.shape[0] == x.type.shape[batch] &&
                  lengths.type.dtype.is_integer())
      << to_string(lengths.type) << " lengths of " << to_string(x.type);
  Extents shape(x.rank(), 1);
  shape[batch] = x.type.shape[batch];
  const Operand length = l.reshape(l.cast(lengths, i64), shape),
                position = positions_along(l, x.type.shape[time], time, x.rank());
  const Operand mirrored = l.pointwise("sub", {l.pointwise("add[-1.0]", {length}), position});
  const Operand at = l.pointwise("where", {mirrored, l.pointwise("less", {position, length}), position});
  return l.add("gather_elements", {{"axis", std::to_string(time)}},
               {l.value(x), l.value(l.broadcast(at, x.type.shape))}, x.type.shape);
}

}  // namespace hone::frontend
