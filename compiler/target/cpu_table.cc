// What is known of CPUs by LLVM's name for them. Sizes in KiB of one core's caches as most models of the line have
// them.
#include "compiler/target/cpu_table.h"

namespace hone {
namespace {

constexpr CpuEntry kCpus[] = {
    // name              arch       vector bits, registers, L1d, L2, L3 (KiB)
    {"x86-64", "x86_64", 128, 16, 32, 256, 0},
    {"x86-64-v2", "x86_64", 128, 16, 32, 256, 0},
    {"x86-64-v3", "x86_64", 256, 16, 32, 256, 0},
    {"x86-64-v4", "x86_64", 512, 32, 32, 1024, 0},
    {"nehalem", "x86_64", 128, 16, 32, 256, 8192},
    {"sandybridge", "x86_64", 256, 16, 32, 256, 8192},
    {"ivybridge", "x86_64", 256, 16, 32, 256, 8192},
    {"haswell", "x86_64", 256, 16, 32, 256, 8192},
    {"broadwell", "x86_64", 256, 16, 32, 256, 8192},
    {"skylake", "x86_64", 256, 16, 32, 256, 8192},
    {"alderlake", "x86_64", 256, 16, 48, 1280, 30720},
    {"raptorlake", "x86_64", 256, 16, 48, 2048, 36864},
    {"skylake-avx512", "x86_64", 512, 32, 32, 1024, 22528},
    {"cascadelake", "x86_64", 512, 32, 32, 1024, 22528},
    {"cooperlake", "x86_64", 512, 32, 32, 1024, 22528},
    {"icelake-client", "x86_64", 512, 32, 48, 512, 8192},
    {"icelake-server", "x86_64", 512, 32, 48, 1280, 49152},
    {"tigerlake", "x86_64", 512, 32, 48, 1280, 12288},
    {"rocketlake", "x86_64", 512, 32, 48, 512, 16384},
    {"sapphirerapids", "x86_64", 512, 32, 48, 2048, 107520},
    {"emeraldrapids", "x86_64", 512, 32, 48, 2048, 266240},
    {"graniterapids", "x86_64", 512, 32, 48, 2048, 442368},
    {"znver1", "x86_64", 256, 16, 32, 512, 8192},
    {"znver2", "x86_64", 256, 16, 32, 512, 16384},
    {"znver3", "x86_64", 256, 16, 32, 512, 32768},
    {"znver4", "x86_64", 512, 32, 32, 1024, 32768},
    {"znver5", "x86_64", 512, 32, 48, 1024, 32768},
    {"generic", "aarch64", 128, 32, 32, 512, 0},
    {"cortex-a53", "aarch64", 128, 32, 32, 512, 0},
    {"cortex-a55", "aarch64", 128, 32, 32, 128, 0},
    {"cortex-a57", "aarch64", 128, 32, 32, 2048, 0},
    {"cortex-a72", "aarch64", 128, 32, 32, 1024, 0},
    {"cortex-a73", "aarch64", 128, 32, 64, 1024, 0},
    {"cortex-a75", "aarch64", 128, 32, 64, 512, 4096},
    {"cortex-a76", "aarch64", 128, 32, 64, 512, 2048},
    {"cortex-a78", "aarch64", 128, 32, 64, 512, 4096},
    {"cortex-x1", "aarch64", 128, 32, 64, 1024, 8192},
    {"carmel", "aarch64", 128, 32, 64, 1024, 4096},
    {"neoverse-n1", "aarch64", 128, 32, 64, 1024, 32768},
    {"neoverse-n2", "aarch64", 128, 32, 64, 1024, 32768},
    {"neoverse-v1", "aarch64", 128, 32, 64, 1024, 32768},
    {"neoverse-v2", "aarch64", 128, 32, 64, 2048, 116736},
    {"apple-m1", "aarch64", 128, 32, 128, 3072, 8192},
};

}  // namespace

const CpuEntry* find_cpu(std::string_view arch, std::string_view mcpu) {
  for (const CpuEntry& e : kCpus)
    if (e.arch == arch && e.name == mcpu) return &e;
  return nullptr;
}

}  // namespace hone
