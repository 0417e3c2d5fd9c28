// Lowering: from a Schedule to a Module in loop form. One readable list of passes.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/passes.h"
#include "compiler/schedule/schedule.h"

namespace hone {

struct LowerOptions {
  int workers = 1;  ///< threads that a parallel loop is planned for
  PassHooks<Function> hooks = {};
};

/// The first step, which makes functions of a schedule; hooks see it under this name.
inline constexpr std::string_view kLowerBlocks = "lower_blocks";

/// The passes after it: flatten_buffers, simplify, plan_storage, which writes the bytes of workspace to
/// `workspace_bytes`.
std::vector<Pass<Function>> lower_passes(int workers, int64_t* workspace_bytes);

/// The loop form of `schedule`: flat accesses, explicit guards, unroll / vectorize / parallel still as kinds of loops,
/// workspace planned.
Module lower(const Schedule& schedule, const LowerOptions& options);

}  // namespace hone
