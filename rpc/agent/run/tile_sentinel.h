// The sentinel of the unit of tiles (Intel's AMX). On shared machines its rate moves between all, 0.43 and 0.24 of its
// best within seconds, while that of multiply-adds, which the other sentinel reads, stays (docs/matrix-units.md).
#pragma once

#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace hone::agent {

/// Runs products of tiles on each core of `pool` (null: the calling thread alone), on all at the same time: seconds of
/// the fastest of a few turns of some 10 us, one entry a core. Empty where this process has no permission to use tiles:
/// its kernel asks for it in its first call, so it has used none.
std::vector<double> read_tiles(ThreadPool* pool);

}  // namespace hone::agent
