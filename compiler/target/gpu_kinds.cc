#include "compiler/target/gpu_kinds.h"

#include <absl/strings/str_join.h>
#include <dlpack/dlpack.h>

#include <algorithm>

#include "base/check.h"

namespace hone {
namespace {

// NVIDIA's architectures. Source of the figures: "Technical Specifications per Compute Capability" of the CUDA C++
// Programming Guide; multiprocessors as in the product's data sheet.
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

constexpr int32_t kCudaHostTypes[] = {kDLCUDAHost, kDLCUDAManaged};
constexpr const char* kCudaSettings[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};
constexpr const char* kCudaCaches[] = {"CUDA_CACHE_PATH"};
constexpr const char* kOpenclSettings[] = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"};
constexpr const char* kOpenclCaches[] = {"POCL_CACHE_DIR"};

constexpr GpuKind kKinds[] = {
    {.name = "cuda",
     .architectures = kNvidia,
     // Granularity of a warp's registers, on every architecture since Maxwell.
     .register_unit = 256,
     .most_registers = 255,
     .schedulers = 4,
     .example = "cuda -arch=sm_XX",
     .texts = "cuda, ptx",
     .compiles_ahead = true,
     .device_type = kDLCUDA,
     .host_device_types = kCudaHostTypes,
     .has_addresses = true,
     .opencl_platform = "NVIDIA CUDA",
     .settings = kCudaSettings,
     .caches = kCudaCaches},
    // The least that every OpenCL device has.
    {.name = "opencl",
     .shared_bytes = 32 << 10,
     .max_threads = 256,
     .warp = 1,
     .example = "opencl -sms=N",
     .texts = "opencl",
     .device_type = kDLOpenCL,
     .settings = kOpenclSettings,
     .caches = kOpenclCaches},
};

}  // namespace

std::span<const GpuKind> gpu_kinds() { return kKinds; }

const GpuKind* find_gpu_kind(std::string_view name) {
  const auto row = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const GpuKind& k) { return k.name == name; });
  return row == std::end(kKinds) ? nullptr : row;
}

const GpuKind& gpu_kind(std::string_view name) {
  const GpuKind* kind = find_gpu_kind(name);
  HONE_ICHECK(kind) << "'" << name << "' is no kind of GPUs";
  return *kind;
}

const GpuKind& gpu_kind_of(int32_t device_type) {
  const auto row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                [&](const GpuKind& k) { return k.device_type == device_type; });
  HONE_ICHECK(row != std::end(kKinds)) << "no kind of GPUs has memory of type " << device_type;
  return *row;
}

const GpuEntry* find_gpu(std::string_view kind, std::string_view arch) {
  const GpuKind* row = find_gpu_kind(kind);
  if (!row) return nullptr;
  for (const GpuEntry& e : row->architectures)
    if (e.arch == arch) return &e;
  return nullptr;
}

std::string known_gpus(std::string_view kind) {
  return absl::StrJoin(gpu_kind(kind).architectures, ", ", [](std::string* out, const GpuEntry& e) { *out += e.arch; });
}

std::string of_gpu_kinds(std::string_view GpuKind::*words, std::string_view before_last) {
  std::string out;
  for (const GpuKind& k : kKinds) {
    if (&k != std::begin(kKinds)) out += &k == std::end(kKinds) - 1 ? before_last : ", ";
    out += k.*words;
  }
  return out;
}

std::string target_kinds(std::string_view before_last) { return "llvm, " + of_gpu_kinds(&GpuKind::name, before_last); }

}  // namespace hone
