#include "compiler/target/gpu_kinds.h"

#include <dlpack/dlpack.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/target/gpu_table.h"

namespace hone {
namespace {

constexpr int32_t kCudaHostTypes[] = {kDLCUDAHost, kDLCUDAManaged};
constexpr const char* kCudaSettings[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};
constexpr const char* kCudaCaches[] = {"CUDA_CACHE_PATH"};
constexpr const char* kOpenclSettings[] = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"};
constexpr const char* kOpenclCaches[] = {"POCL_CACHE_DIR"};

constexpr GpuKind kKinds[] = {
    {.name = "cuda",
     .dialect = GpuDialect::kCuda,
     .architectures = &nvidia_gpus,
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
     .dialect = GpuDialect::kOpencl,
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
