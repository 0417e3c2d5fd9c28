#include "rpc/agent/device.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace hone::agent {

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  std::string model;  // of ARM boards
  std::getline(std::ifstream("/proc/device-tree/model"), model, '\0');
  return model.empty() ? "unknown CPU" : model;
}

uint64_t memory_bytes() { return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

std::string os_version() {
  utsname u{};
  uname(&u);
  return std::string(u.sysname) + " " + u.release + " " + u.machine;
}

int usable_cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string out;
  for (const char c : std::string(name)) out += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '-';
  return out.empty() ? "agent" : out;
}

}  // namespace hone::agent
