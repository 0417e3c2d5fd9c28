// The CPUs that this process may run on.
#pragma once

#include <vector>

namespace hone {

/// Their numbers, ascending; by the calling thread's affinity. Empty where the system does not say.
std::vector<int> usable_cpus();

}  // namespace hone
