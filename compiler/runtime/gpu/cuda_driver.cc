#include "compiler/runtime/gpu/cuda_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "compiler/runtime/gpu/cuda_device.h"

namespace hone {
namespace {

// "580.65.06" of "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …": the first word
// of numbers with dots.
std::string kernel_module_version(const std::string& file) {
  std::ifstream in(file);
  std::string word;
  while (in >> word)
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return word;
  return "";
}

class CudaDriver final : public DeviceDriver {
 public:
  CudaDriver(std::shared_ptr<const CudaApi> api, const CudaOptions& options)
      : api_(std::move(api)), compiler_(std::make_shared<CudaCompiler>()) {
    compiler_->options = options.nvrtc;
  }

  Status discover(const std::string& version_file) {
    const CudaApi& cu = *api_;
    int count = 0;
    if (const CuResult r = cu.init(0); r != 0)
      return absl::NotFoundError(fmt::format("no CUDA device: the driver does not start: {}", cu.describe(r)));
    if (const CuResult r = cu.device_count(&count); r != 0 || count == 0)
      return absl::NotFoundError(r != 0 ? fmt::format("no CUDA device: {}", cu.describe(r))
                                        : "no CUDA device: the driver knows none (CUDA_VISIBLE_DEVICES may hide them)");
    int version = 0;
    HONE_RETURN_IF_ERROR(cu.status(cu.driver_version(&version), "the driver's version"));
    compiler_->options.max_major = version / 1000;
    const std::string cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10),
                      module = kernel_module_version(version_file);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      CuDevice device = 0;
      StatusOr<DeviceInfo> info =
          cu.device(&device, ordinal) == 0 ? info_of(device) : absl::InternalError("it cannot be opened");
      if (!info.ok()) {
        skipped_.push_back(fmt::format("GPU {} cannot be used: {}", ordinal, message_of(info.status())));
        continue;
      }
      info->versions = {{"cuda", cuda}};
      if (!module.empty()) info->versions["driver"] = module;
      info->driver = module.empty() ? "CUDA " + cuda : module;
      ids_.push_back(device);
      devices_.push_back(*std::move(info));
    }
    return devices_.empty() ? absl::NotFoundError(fmt::format("no CUDA device: {}", skipped_.front()))
                            : absl::OkStatus();
  }

 private:
  StatusOr<DeviceInfo> info_of(CuDevice device) const {
    const CudaApi& cu = *api_;
    DeviceInfo d{.api = "cuda", .kind = "gpu", .platform = "NVIDIA CUDA"};
    char name[256] = {};
    HONE_RETURN_IF_ERROR(cu.status(cu.device_name(name, sizeof name - 1, device), "its name"));
    d.name = name;
    size_t memory = 0;
    HONE_RETURN_IF_ERROR(cu.status(cu.device_memory(&memory, device), "its memory"));
    d.memory_bytes = d.max_buffer_bytes = static_cast<int64_t>(memory);
    Status status;
    const auto attribute = [&](int which, const char* what) {
      int value = 0;
      if (Status s = cu.status(cu.device_attribute(&value, which, device), what); !s.ok() && status.ok())
        status = std::move(s);
      return value;
    };
    d.capability_major = attribute(cuda::kCapabilityMajor, "its compute capability");
    d.capability_minor = attribute(cuda::kCapabilityMinor, "its compute capability");
    d.arch = fmt::format("sm_{}{}", d.capability_major, d.capability_minor);
    d.cache_bytes = attribute(cuda::kL2Bytes, "its cache");
    d.max_threads = attribute(cuda::kMaxThreadsPerBlock, "its threads");
    d.max_blocks = attribute(cuda::kMaxGridX, "its blocks");
    d.local_bytes = attribute(cuda::kSharedPerBlock, "its shared memory");
    d.compute_units = attribute(cuda::kMultiprocessors, "its multiprocessors");
    d.warp = attribute(cuda::kWarpSize, "its warps");
    HONE_RETURN_IF_ERROR(status);
    // Zero on GPUs that let no kernel have more than it may declare.
    int opt_in = 0;
    if (cu.device_attribute(&opt_in, cuda::kSharedPerBlockOptIn, device) != 0) opt_in = 0;
    d.max_local_bytes = std::max<int64_t>(opt_in, d.local_bytes);
    d.fp16 = d.capability_major > 5 || (d.capability_major == 5 && d.capability_minor >= 3);
    d.fp64 = true;
    return d;
  }

  StatusOr<std::unique_ptr<Device>> do_open(size_t index, const DeviceOptions& options) const override {
    return open_cuda_device(api_, ids_[index], devices_[index], compiler_, options);
  }

  std::shared_ptr<const CudaApi> api_;
  std::shared_ptr<CudaCompiler> compiler_;
  std::vector<CuDevice> ids_;
};

}  // namespace

StatusOr<std::unique_ptr<DeviceDriver>> load_cuda(const CudaOptions& options) {
  HONE_ASSIGN_OR_RETURN(auto api, CudaApi::load(options.library));
  auto driver = std::make_unique<CudaDriver>(std::move(api), options);
  HONE_RETURN_IF_ERROR(driver->discover(options.driver_version_file));
  return driver;
}

}  // namespace hone
