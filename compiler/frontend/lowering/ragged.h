// Ragged tensors: their extent along one axis is only found at run time. They have the largest shape, and only the
// first elements along the axis are the model's. The others are filler: any numbers; as indices they are valid.
#pragma once

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// The kinds of operands that these files keep by Lowering::once(): the first number of its keys.
enum Once : uint8_t { kIsThere, kPositions, kComparison, kJoinedMasks };

/// x with `count` (s64[1]) of its elements along the axis: cut where the count is known.
Operand with_extent(Lowering& l, const Operand& x, size_t axis, ValueId count);
/// x without that: all of it.
Operand whole(Operand x);

/// [1, …, n, …, 1] of `rank` axes: which of the n elements along the axis are among the first `count`.
Operand is_there(Lowering& l, size_t axis, ValueId count, int64_t n, size_t rank);
/// x, with `filler`, of rank 0, in place of all behind its elements. x itself where it is not ragged.
Operand filled(Lowering& l, const Operand& x, const Operand& filler);
/// The same with zeros.
Operand filled_with_zeros(Lowering& l, const Operand& x);
/// a where the condition, of one bool, holds, else b: of one type, and of shapes that differ in one axis at most.
Operand chosen(Lowering& l, const Operand& condition, const Operand& a, const Operand& b);

/// Where bools are true, ascending, in row-major order: s64 of one axis, ragged.
Operand positions_of_true(Lowering& l, const Operand& mask);
/// Coordinates of such positions, at least one, in a tensor of this shape: s64 [n] for each of its axes, whole.
std::vector<Operand> coordinates_of(Lowering& l, const Operand& positions, const Extents& shape);

}  // namespace hone::frontend
