// Extents that only a call finds out: which of them are the same, and which axis has one.
#pragma once

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// The value, s64[1], that element `at` of integers was copied from, followed through joins, slices and views; kNoValue
/// when there is none. So equal counts are recognised as equal.
ValueId same_number(const GraphBuilder& b, ValueId numbers, int64_t at);

/// Merges the run-time extents that two operands have on one axis: UserError unless they are the same.
void agree(std::optional<Ragged>* known, const std::optional<Ragged>& more);
/// The same extent of an axis so many positions behind.
std::optional<Ragged> on_axis(std::optional<Ragged> r, int64_t by);
/// The axis that a shape, given as numbers, leaves open; none when all numbers are known. UserError for several.
std::optional<size_t> open_axis(const Operand& numbers);

}  // namespace hone::frontend
