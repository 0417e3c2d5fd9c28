// Tensors some of whose elements are replaced by others, or combined with them.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// `data`, seen as rows of `row` elements, with updates at rows that are known: `target` has the number of each one.
/// `reduction`: none (the last of several counts), add, mul, max or min, which combine with what is there. UserError,
/// one line, for another one, and for too many updates of one row. Rows are gathered: no host function runs.
Operand scattered(Lowering& l, const Operand& data, const Operand& updates, const std::vector<int64_t>& target,
                  const std::string& reduction, int64_t row = 1);

/// `data`, seen as [rows, row], with rows at these positions (s64) replaced by the updates or combined with them, in
/// order. Updates whose position is no row are left out. UserError where there is not a row for each position.
Operand scattered_rows(Lowering& l, const Operand& data, const Operand& updates, const Operand& positions, int64_t rows,
                       int64_t row, const std::string& reduction);

}  // namespace hone::frontend
