// A fixed piece of work on every core that a candidate uses, timed between its repeats: when it takes longer than on the quiet machine,
// somebody shares the cores, whom the kernel need not know of (another virtual machine, a sibling hyperthread).
#pragma once

#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace hone::agent {

/// Seconds of the work on each core of `pool` (null: the calling thread alone), all at the same time: the fastest of a few turns of some
/// 10 us, so that being interrupted in one does not count. About 60 us in all.
std::vector<double> time_sentinel(ThreadPool* pool);

}  // namespace hone::agent
