// Chips with fast and slow cores: which CPUs belong together, and an agent on some of them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hone::agent {

/// CPUs of one speed.
struct CpuCluster {
  int capacity = 0;  ///< as the kernel rates them: the fastest of the chip have 1024
  std::vector<int> cpus;
};
/// Those of `usable`, the fastest first. One or none where the kernel does not rate them (it does on ARM:
/// cpu_capacity). `sys`: where /sys is.
std::vector<CpuCluster> cpu_clusters(const std::vector<int>& usable, const std::string& sys = "/sys");

/// "0-3,6" as numbers, which ascend. A usage error that names the text.
StatusOr<std::vector<int>> parse_cpu_list(const std::string& text);
std::string cpu_list_text(const std::vector<int>& cpus);

/// Keeps this process, its threads to come and its children on these. A usage error, where one is not usable.
Status keep_to_cpus(const std::vector<int>& cpus);

}  // namespace hone::agent
