// The CPUs that this process may run on.
#pragma once

#include <vector>

namespace hone {

/// Their numbers, ascending; by the calling thread's affinity. Empty where the system does not say.
std::vector<int> usable_cpus();

/// The number of these CPUs, at least 1: a kernel's threads unless another number is given.
int usable_cpu_count();

}  // namespace hone
