// The prefetches of a loop that annotate() gave a prefetch distance.
#pragma once

#include <functional>
#include <optional>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/region.h"

namespace hone {

/// Where a buffer of the schedule lies in the lowered program, and the origin of its indices (empty: zero).
struct PlacedBuffer {
  Buffer buffer;
  std::vector<Expr> min;
};

/// The prefetches at the beginning of an iteration of `loop`: the cache lines that iteration + `prefetch` reads, for
/// each buffer that `position` gives a position, from the start of that region, at most kMaxPrefetchLines a buffer.
/// Buffers whose region does not move with the loop are left out. `facts` hold inside the loop.
std::vector<Stmt> prefetches_of(TreeNode* loop, const Facts& facts,
                                const std::function<std::optional<PlacedBuffer>(const Buffer&)>& position);

/// More are not worth their issue slots: hardware prefetchers have taken over by then.
inline constexpr int64_t kMaxPrefetchLines = 32;

}  // namespace hone
