#include "compiler/codegen/llvm/machine/host_caches.h"

#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace hone {
namespace {

int64_t* of_level(CacheSizes& sizes, int64_t level) {
  return level == 1 ? &sizes.l1 : level == 2 ? &sizes.l2 : level == 3 ? &sizes.l3 : nullptr;
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// `48K`, `32M` or bytes.
int64_t bytes_of(const std::string& size) {
  const int64_t n = std::strtoll(size.c_str(), nullptr, 10);
  return size.ends_with('K') ? n << 10 : size.ends_with('M') ? n << 20 : n;
}

// Leaves 4 and 0x8000001D have a subleaf for each cache.
CacheSizes caches_of_leaf(const Cpuid& cpuid, uint32_t leaf) {
  constexpr uint32_t kNone = 0, kInstruction = 2, kMostCaches = 16;
  CacheSizes sizes;
  for (uint32_t i = 0; i < kMostCaches; ++i) {
    const CpuidWords w = cpuid(leaf, i);
    const uint32_t type = w.eax & 0x1f;
    if (type == kNone) break;
    int64_t* const size = of_level(sizes, (w.eax >> 5) & 7);
    if (type == kInstruction || !size || *size != 0) continue;
    const int64_t ways = (w.ebx >> 22) + 1, partitions = ((w.ebx >> 12) & 0x3ff) + 1, line = (w.ebx & 0xfff) + 1;
    *size = ways * partitions * line * (int64_t{w.ecx} + 1);
  }
  return sizes;
}

// AMD's older leaves: KiB, and of L3 units of 512 KiB.
CacheSizes caches_of_old_leaves(const Cpuid& cpuid) {
  const CpuidWords outer = cpuid(0x80000006, 0);
  return {int64_t{cpuid(0x80000005, 0).ecx >> 24} << 10, int64_t{outer.ecx >> 16} << 10,
          int64_t{outer.edx >> 18} << 19};
}

#if defined(__x86_64__)
CpuidWords cpuid_here(uint32_t leaf, uint32_t subleaf) {
  CpuidWords w;
  if (!__get_cpuid_count(leaf, subleaf, &w.eax, &w.ebx, &w.ecx, &w.edx)) return {};
  return w;
}

// CPUID speaks of the CPU that it runs on, and fast and slow cores differ: the thread stays on `cpu` while it asks.
// Where it may not, any CPU's answer is better than none.
CacheSizes caches_by_cpuid(int cpu) {
  cpu_set_t before, one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  const bool is_moved =
      sched_getaffinity(0, sizeof before, &before) == 0 && sched_setaffinity(0, sizeof one, &one) == 0;
  const CacheSizes sizes = caches_of_cpuid(cpuid_here);
  if (is_moved) sched_setaffinity(0, sizeof before, &before);
  return sizes;
}
#endif

}  // namespace

CacheSizes caches_of_sysfs(int cpu, const std::string& sys) {
  const std::string caches = sys + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
  CacheSizes sizes;
  for (int i = 0; i < 8; ++i) {
    const std::string folder = caches + std::to_string(i) + "/";
    int64_t* const size = of_level(sizes, std::atoi(first_line(folder + "level").c_str()));
    if (!size || *size != 0 || first_line(folder + "type") == "Instruction") continue;
    *size = bytes_of(first_line(folder + "size"));
  }
  return sizes;
}

CacheSizes caches_of_cpuid(const Cpuid& cpuid) {
  const CpuidWords name = cpuid(0, 0);
  char vendor[12];
  std::memcpy(vendor, &name.ebx, 4);
  std::memcpy(vendor + 4, &name.edx, 4);
  std::memcpy(vendor + 8, &name.ecx, 4);
  const std::string_view by(vendor, sizeof vendor);
  constexpr uint32_t kTopoext = 1u << 22;
  if (by == "AuthenticAMD" && !(cpuid(0x80000001, 0).ecx & kTopoext)) return caches_of_old_leaves(cpuid);
  return caches_of_leaf(cpuid, by == "AuthenticAMD" || by == "HygonGenuine" ? 0x8000001d : 4);
}

CacheSizes host_caches(int cpu, const std::string& sys) {
  const CacheSizes told = caches_of_sysfs(cpu, sys);
#if defined(__x86_64__)
  if (told == CacheSizes{}) return caches_by_cpuid(cpu);
#endif
  return told;
}

}  // namespace hone
