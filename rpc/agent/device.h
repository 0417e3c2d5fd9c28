// What this machine is, for people: model and memory of its CPU.
#pragma once

#include <cstdint>
#include <string>

namespace hone::agent {

/// As the kernel names it: "AMD EPYC 9B45"; "unknown CPU" when it does not.
std::string cpu_model();
uint64_t memory_bytes();
/// `Linux 6.1.0 x86_64`.
std::string os_version();
/// CPUs this process may run on.
int usable_cpus();
/// This machine's name, made fit for a device's key.
std::string host_name();

}  // namespace hone::agent
