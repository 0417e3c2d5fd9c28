#include "base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace hone {

std::vector<int> usable_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

int usable_cpu_count() {
  const size_t usable = usable_cpus().size();
  return std::max(1, static_cast<int>(usable > 0 ? usable : std::thread::hardware_concurrency()));
}

}  // namespace hone
