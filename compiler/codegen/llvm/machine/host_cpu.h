// The name of this machine's processor where its cores are of several kinds. Private to codegen/llvm and its tests.
#pragma once

#include <string>
#include <vector>

namespace hone {

/// LLVM's name of the ARM core that CPUs `cpus` are, by the text of /proc/cpuinfo: chips with fast and slow cores have
/// a part number for each. "generic" where it is not known.
std::string arm_cpu_name(const std::string& cpuinfo, const std::vector<int>& cpus);

}  // namespace hone
