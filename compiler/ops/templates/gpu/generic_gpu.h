// The generic GPU template: any definition at all.
#pragma once

#include <memory>

#include "compiler/ops/templates/row_wise.h"

namespace hone {

/// Declares, checks or applies like a TemplateFunction, from the definition alone, whatever it is made of: it chooses
/// between the two below and that of stage_nests.h.
void generic_gpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// Reductions over the same rows (find_rows(collapse(d))) in one launch.
void row_wise_gpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// Any number of reductions and outputs: a launch for each reduction, and for each elementwise stage that is an output,
/// that would make a statement too long, or that calls functions and is read more often than it has elements.
void nests_gpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
