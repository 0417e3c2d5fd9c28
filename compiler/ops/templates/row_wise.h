// Rows: definitions whose reductions all reduce the same rows, and their template for CPUs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// The common structure of a definition of one output: every reduction has the same axes (its rows), which are axes of
/// the output. The output's other axes and the reduced axes are inside a row.
struct RowGroup {
  std::vector<size_t> rows, inside;  ///< axes of the output; at least one row axis of more than one element
  /// For each stage, by name, which axis of the output each of its axes is; nothing for an axis that the output lacks,
  /// and for those of one element.
  std::map<std::string, std::vector<std::optional<size_t>>> axes;
  bool along = false;  ///< rows are contiguous in memory; else neighbours belong to neighbouring rows
  int64_t count = 1;   ///< rows

  bool is_row_axis(size_t axis) const;
  /// Whether stage `name` has an axis inside the rows, and whether it has all axes of the rows.
  bool reaches_inside(const std::string& name) const;
  bool has_rows(const std::string& name) const;
};

/// The rows of `d`, which is collapsed; nothing where it has several outputs or no reduction, where reductions have
/// different axes or none, and where a stage reads another one at shifted or exchanged positions.
std::optional<RowGroup> find_rows(const Definition& d);

/// A definition without the outputs that depend on no reduction: they are computed before, and the others read them as
/// inputs (the sum of a residual that is normalised and stored).
struct BehindEarlyOutputs {
  Definition rest;
  std::vector<std::string> early;  ///< the names of those outputs
};
BehindEarlyOutputs behind_early_outputs(const Definition& d);

/// Declares, checks or applies like a TemplateFunction: for definitions whose rest (behind_early_outputs) has rows,
/// once collapsed.
///
/// Rows go to threads. Under the loop over rows each reduction runs in lanes that are combined at its end; stages in
/// between that are read more than once are kept, a row of them, and the output is written in vectors. Where the rows
/// are not contiguous, a vector holds neighbouring rows.
void row_wise_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
