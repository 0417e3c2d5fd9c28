// Sizes of this machine's data caches. Private to codegen/llvm and its tests.
//
// They are part of a target's text, by which the database knows a machine, so they must come out equal in a container
// or an empty root, where /sys may be missing: on x86 CPUID is read then, as Linux reads it for /sys.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hone {

/// Bytes by level; 0: there is no such cache, or its size is unknown.
struct CacheSizes {
  int64_t l1 = 0, l2 = 0, l3 = 0;
  bool operator==(const CacheSizes&) const = default;
};

/// The caches of CPU number `cpu` by the folder `sys`/devices/system/cpu; all 0 when it has no files on caches.
CacheSizes caches_of_sysfs(int cpu, const std::string& sys);

/// Registers of x86's instruction CPUID.
struct CpuidWords {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
/// CPUID of a leaf and subleaf; zeros for leaves that the processor does not have.
using Cpuid = std::function<CpuidWords(uint32_t leaf, uint32_t subleaf)>;
/// The caches by CPUID, read as Linux does: leaf 4; AMD and Hygon: 0x8000001D; AMD where a hypervisor hides that
/// (TOPOEXT): 0x80000005 and 0x80000006.
CacheSizes caches_of_cpuid(const Cpuid& cpuid);

/// The caches of CPU number `cpu`: by `sys`, else, on x86, by CPUID. Other processors report them to the kernel
/// alone: all 0 there.
CacheSizes host_caches(int cpu, const std::string& sys = "/sys");

}  // namespace hone
