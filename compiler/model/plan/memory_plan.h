// Where in the arena each buffer of a model lies: all sizes are known, so memory is packed when the model is built.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

/// A buffer that is needed from one step to another, both included.
struct ArenaBuffer {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  ///< of each buffer; a multiple of 64
  int64_t bytes = 0;             ///< of the arena
  int64_t bound = 0;             ///< the most bytes that are needed in one step: no plan needs less
};

/// Buffers whose times overlap do not share memory. The best of several orders of placing them one by one as low as
/// they fit, then of moves in that order that do no harm. The same for the same buffers.
MemoryPlan plan_memory(const std::vector<ArenaBuffer>& buffers);

}  // namespace hone
