// The CPUs that this process may run on.
#pragma once

#include <vector>

namespace hone {

/// Their numbers, ascending; by the calling thread's affinity. Empty where the system does not say.
std::vector<int> usable_cpus();

/// How many they are, at least 1: the threads of a kernel where nobody says another number.
int usable_cpu_count();

}  // namespace hone
