// The sentinel: a fixed piece of work on every core that a candidate uses, timed between its repeats. When it takes
// longer than on the quiet machine, something shares the cores, even if this kernel does not know of it (another
// virtual machine, a sibling hyperthread).
#pragma once

#include <functional>
#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace hone::agent {

/// Readings of one core, in seconds.
struct CoreReading {
  double work = 0;   ///< slowed down by other work on the same core
  double chain = 0;  ///< a chain of dependent steps: only the core's clock changes it
};

/// Runs both on each core of `pool` (null: the calling thread alone), on all at the same time: the fastest of a few
/// turns of some 10 us, so that an interruption of one does not count. About 60 us in all.
std::vector<CoreReading> read_cores(ThreadPool* pool);

/// A kernel with wide vectors lowers its core's clock and leaves it low for a while, which is no disturbance: where a
/// core's clock is lower than it has been in this process, the core is read again after a pause. A clock that stays low
/// (heat, others on the chip) then shows.
class Sentinel {
 public:
  explicit Sentinel(ThreadPool* pool);
  /// For tests: a function that reads all cores, and one that waits for so many seconds.
  Sentinel(std::function<std::vector<CoreReading>()> take, std::function<void(double)> pause);

  /// Seconds that the work took, one entry a core.
  std::vector<double> read();

 private:
  bool has_low_clock(const std::vector<CoreReading>& cores);

  std::function<std::vector<CoreReading>()> take_;
  std::function<void(double)> pause_;
  std::vector<double> shortest_chain_;  ///< of each core
};

}  // namespace hone::agent
