#include "rpc/agent/supervise/cpu_clusters.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "base/cpus.h"
#include "base/exit_code.h"

namespace hone::agent {

std::vector<CpuCluster> cpu_clusters(const std::vector<int>& usable, const std::string& sys) {
  std::map<int, std::vector<int>, std::greater<>> by_capacity;
  for (const int cpu : usable) {
    std::ifstream file(fmt::format("{}/devices/system/cpu/cpu{}/cpu_capacity", sys, cpu));
    if (int capacity = 0; file >> capacity) by_capacity[capacity].push_back(cpu);
  }
  std::vector<CpuCluster> out;
  for (auto& [capacity, cpus] : by_capacity) out.push_back({capacity, std::move(cpus)});
  return out;
}

StatusOr<std::vector<int>> parse_cpu_list(const std::string& text) {
  const auto wrong = [&] {
    return usage_error(
        fmt::format("--cpus {}: expected numbers and ranges of CPUs below {}, such as 0-3,6", text, CPU_SETSIZE));
  };
  std::set<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    int first = 0;
    const auto [behind, error] = std::from_chars(at, end, first);
    if (error != std::errc{}) return wrong();
    int last = first;
    at = behind;
    if (at != end && *at == '-') {
      const auto [stop, wrong_last] = std::from_chars(at + 1, end, last);
      if (wrong_last != std::errc{}) return wrong();
      at = stop;
    }
    if (first < 0 || last < first || last >= CPU_SETSIZE) return wrong();
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    if (at == end) return std::vector<int>(cpus.begin(), cpus.end());
    if (*at++ != ',') return wrong();
  }
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::vector<std::string> out;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    out.push_back(last > i ? fmt::format("{}-{}", cpus[i], cpus[last]) : std::to_string(cpus[i]));
    i = last + 1;
  }
  return absl::StrJoin(out, ",");
}

Status keep_to_cpus(const std::vector<int>& cpus) {
  const std::vector<int> usable = usable_cpus();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (std::find(usable.begin(), usable.end(), cpu) == usable.end())
      return usage_error(fmt::format("--cpus {}: this process may not use CPU {}; it may use {}", cpu_list_text(cpus),
                                     cpu, cpu_list_text(usable)));
    CPU_SET(cpu, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return usage_error(fmt::format("--cpus {}: {}", cpu_list_text(cpus), std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace hone::agent
