// NVIDIA's architectures. Source of the figures: "Technical Specifications per Compute Capability" of the CUDA C++
// Programming Guide; multiprocessors as in the product's data sheet.
#include "compiler/target/gpu_table.h"

#include <absl/strings/str_join.h>

#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

constexpr GpuEntry kNvidia[] = {
    // arch     SMs, registers, of a block, warps, blocks, shared KiB, reserved, of a block
    {"sm_53", 1, 65536, 32768, 64, 32, 64, 0, 48},       // Jetson Nano
    {"sm_60", 56, 65536, 65536, 64, 32, 64, 0, 48},      // P100
    {"sm_61", 28, 65536, 65536, 64, 32, 96, 0, 48},      // GTX 1080 Ti
    {"sm_62", 2, 65536, 32768, 64, 32, 64, 0, 48},       // Jetson TX2
    {"sm_70", 80, 65536, 65536, 64, 32, 96, 0, 96},      // V100
    {"sm_72", 8, 65536, 65536, 64, 32, 96, 0, 96},       // Jetson Xavier
    {"sm_75", 40, 65536, 65536, 32, 16, 64, 0, 64},      // T4
    {"sm_80", 108, 65536, 65536, 64, 32, 164, 1, 163},   // A100
    {"sm_86", 84, 65536, 65536, 48, 16, 100, 1, 99},     // A40, RTX 3090
    {"sm_87", 16, 65536, 65536, 48, 16, 164, 1, 163},    // Jetson Orin
    {"sm_89", 128, 65536, 65536, 48, 24, 100, 1, 99},    // RTX 4090, L40
    {"sm_90", 132, 65536, 65536, 64, 32, 228, 1, 227},   // H100, H200
    {"sm_100", 148, 65536, 65536, 64, 32, 228, 1, 227},  // B200
    {"sm_103", 148, 65536, 65536, 64, 32, 228, 1, 227},  // B300
    {"sm_110", 20, 65536, 65536, 48, 24, 228, 1, 227},   // Jetson Thor
    {"sm_120", 170, 65536, 65536, 48, 24, 100, 1, 99},   // RTX 5090
    {"sm_121", 48, 65536, 65536, 48, 24, 100, 1, 99},    // DGX Spark
};

}  // namespace

std::span<const GpuEntry> nvidia_gpus() { return kNvidia; }

const GpuEntry* find_gpu(std::string_view kind, std::string_view arch) {
  const GpuKind* row = find_gpu_kind(kind);
  if (!row || !row->architectures) return nullptr;
  for (const GpuEntry& e : row->architectures())
    if (e.arch == arch) return &e;
  return nullptr;
}

std::string known_gpus(std::string_view kind) {
  return absl::StrJoin(gpu_kind(kind).architectures(), ", ",
                       [](std::string* out, const GpuEntry& e) { *out += e.arch; });
}

}  // namespace hone
