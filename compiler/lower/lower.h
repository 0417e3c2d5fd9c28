// Lowering: from a Schedule to a Module in loop form. One readable list of passes.
#pragma once

#include <functional>

#include "compiler/ir/module.h"
#include "compiler/schedule/schedule.h"

namespace hone {

/// What a caller may hang into the pipeline: called after every pass with its name and what came out.
struct LowerOptions {
  int workers = 1;  ///< threads that a parallel loop is planned for
  std::function<void(std::string_view pass, const Function& f)> after_pass;
};

/// The loop form of `schedule`: flat accesses, explicit guards, unroll / vectorize / parallel still as kinds of loops,
/// workspace planned.
Module lower(const Schedule& schedule, const LowerOptions& options);

}  // namespace hone
