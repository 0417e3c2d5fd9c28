// Describes this machine to people: the model of its CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::agent {

/// As the kernel names it: "AMD EPYC 9B45"; "unknown CPU" when it does not.
std::string cpu_model();
/// `Linux 6.1.0 x86_64`.
std::string os_version();
/// Instruction sets that matter to kernels, in the order of a fixed list: "avx2", "avx512f", "neon", …; read from a
/// file like /proc/cpuinfo.
std::vector<std::string> cpu_features(const std::string& cpuinfo = "/proc/cpuinfo");
/// Help for people who look for an OpenCL GPU on this board in vain; "" on other boards. `proc`: where /proc is, whose
/// device tree names the board.
std::string opencl_hint(const std::string& proc = "/proc");
/// This machine's name, made fit for a device's key.
std::string host_name();

}  // namespace hone::agent
