// The table of CPUs, by LLVM's name. Sizes are in KiB of one core's caches, as most models of the line have
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
    // ARM. Shared caches are given whole, as Linux has them in /sys/devices/system/cpu/cpu0/cache, the source of a
    // machine's own target; some boards' kernels have nothing there. TRM: Arm's technical reference manual.
    {"generic", "aarch64", 128, 32, 32, 512, 0},  // as cortex-a53, the smallest of these
    // TRM: L1d 8 to 64, L2 up to 2048. Raspberry Pi 3 (BCM2837): four cores share 512 (Linux: bcm2837.dtsi).
    {"cortex-a53", "aarch64", 128, 32, 32, 512, 0},
    // TRM: L1d 16 to 64, L2 64 to 256 of its own, L3 optional. RK3588: 32 and 128 (Linux: rk3588s.dtsi).
    {"cortex-a55", "aarch64", 128, 32, 32, 128, 0},
    // TRM: L1d 32. Jetson Nano (Tegra X1) and TX2: four cores share 2048 (NVIDIA's data sheets of the modules).
    {"cortex-a57", "aarch64", 128, 32, 32, 2048, 0},
    // TRM: L1d 32. Raspberry Pi 4 (BCM2711): four cores share 1024 (Linux: bcm2711.dtsi).
    {"cortex-a72", "aarch64", 128, 32, 32, 1024, 0},
    // TRM: L1d 32 or 64, L2 256 to 8192 that up to four cores share. Odroid-N2 and VIM3 (S922X, A311D): 64 and 1024.
    {"cortex-a73", "aarch64", 128, 32, 64, 1024, 0},
    {"cortex-a75", "aarch64", 128, 32, 64, 512, 4096},
    // Raspberry Pi 5 (BCM2712): four cores, 64 and 512 each, 2048 together (Linux: bcm2712.dtsi).
    {"cortex-a76", "aarch64", 128, 32, 64, 512, 2048},
    {"cortex-a78", "aarch64", 128, 32, 64, 512, 4096},
    // Jetson Orin: 64 and 256 a core; clusters of four share 2048 (NVIDIA, Jetson AGX Orin Technical Brief 1.2: twelve
    // cores, 3 MB of L2, 6 MB of L3; Orin Nano: six, 1.5 MB and 4 MB).
    {"cortex-a78ae", "aarch64", 128, 32, 64, 256, 2048},
    // TRM: L1d 64, L2 512 or 1024, L3 512 to 8192.
    {"cortex-x1", "aarch64", 128, 32, 64, 1024, 8192},
    // Jetson Xavier: pairs of cores share 2048, all (AGX eight, NX six) 4096 (Linux: tegra194.dtsi).
    {"carmel", "aarch64", 128, 32, 64, 2048, 4096},
    // TRM: L1d 64, L2 256 to 1024. Graviton2: 1024, and 32 MiB for all (Arm Learning Paths, cache hierarchy).
    {"neoverse-n1", "aarch64", 128, 32, 64, 1024, 32768},
    {"neoverse-n2", "aarch64", 128, 32, 64, 1024, 32768},
    // TRM: L1d 64, L2 512 or 1024. Graviton3: 1024, and 32 MiB for all (AWS, Graviton technical guide).
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
