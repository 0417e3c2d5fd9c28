#include "compiler/codegen/llvm/machine/host_cpu.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace hone {

std::string arm_cpu_name(const std::string& cpuinfo, const std::vector<int>& cpus) {
  std::string of_cpus;
  bool is_wanted = false;
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    if (int cpu = 0; std::sscanf(line.c_str(), "processor : %d", &cpu) == 1)
      is_wanted = std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
    if (is_wanted) of_cpus += line + "\n";
  }
  return llvm::sys::detail::getHostCPUNameForARM(of_cpus.empty() ? cpuinfo : of_cpus).str();
}

}  // namespace hone
