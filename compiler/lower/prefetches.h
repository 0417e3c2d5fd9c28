// What an annotated loop asks the caches for ahead of time.
#pragma once

#include <functional>
#include <optional>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/region.h"

namespace hone {

/// Where a buffer of the schedule lies in the lowered program, and what its indices are relative to (empty: nothing).
struct PlacedBuffer {
  Buffer buffer;
  std::vector<Expr> min;
};

/// The prefetches that stand first in an iteration of `loop` (which has a distance): the cache lines of what is read
/// below it of each buffer that `place` gives a place, as of `prefetch` iterations later, from the start of that region
/// and at most kMaxPrefetchLines of a buffer. Buffers whose region does not move with the loop are left out. `facts`
/// hold inside the loop.
std::vector<Stmt> prefetches_of(TreeNode* loop, const Facts& facts,
                                const std::function<std::optional<PlacedBuffer>(const Buffer&)>& place);

/// More are not worth their issue slots: hardware prefetchers have taken over by then.
inline constexpr int64_t kMaxPrefetchLines = 32;

}  // namespace hone
