// Positions of elements as numbers: along an axis, and in the flat tensor.
#pragma once

#include <optional>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// 0, 1, … (s64) along `axis` of a tensor of `rank` axes, the others of extent 1. UserError where they are too many.
Operand positions_along(Lowering& l, int64_t count, size_t axis, size_t rank);

/// How many elements of the flat tensor lie between neighbours along each axis.
Extents row_major_strides(const Extents& shape);

/// The flat position that coordinates say, each from the front, one of them of the whole shape; -1, which is none,
/// where one is beyond its extent, and behind the elements of a ragged shape.
Operand flat_positions(Lowering& l, const std::vector<Operand>& coordinates, const Extents& extents,
                       const std::optional<Ragged>& ragged);

/// x, whose axis `time` has the first `lengths[b]` elements the other way around, b being the position along `batch`.
/// UserError unless there is a whole number for each of these.
Operand reversed_sequences(Lowering& l, const Operand& x, const Operand& lengths, size_t time, size_t batch);

}  // namespace hone::frontend
