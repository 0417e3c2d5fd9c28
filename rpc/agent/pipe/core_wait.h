// How long threads were ready to run while another thread had their core: the plainest sign that a timed call was
// disturbed.
#pragma once

#include <cstdint>
#include <vector>

namespace hone::agent {

struct CoreWait {
  double seconds = 0;  ///< over all threads
  int64_t slices = 0;  ///< times that one of them got a core; each costs a little even on an idle machine
};

/// True when this much waiting in `seconds` of calls cannot come from the threads themselves.
bool disturbs(const CoreWait& wait, double seconds);

/// Counts for the threads that this process has when the counter is made. Reads the kernel's account of each thread
/// (schedstat). The files are opened at once, so that a sandboxed process can go on reading; without them, every
/// involuntary switch counts as a millisecond.
class CoreWaitCounter {
 public:
  CoreWaitCounter();
  ~CoreWaitCounter();
  CoreWaitCounter(const CoreWaitCounter&) = delete;
  CoreWaitCounter& operator=(const CoreWaitCounter&) = delete;

  /// Since the threads began.
  CoreWait total() const;

 private:
  std::vector<int> fds_;  ///< one a thread; empty: the kernel has no such account
};

}  // namespace hone::agent
