#include "compiler/runtime/gpu/opencl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "compiler/runtime/gpu/opencl_device.h"

namespace hone {
namespace {

// Defined by OpenCL 2.1: headers for 1.2 do not have it.
constexpr cl_device_info kMaxSubGroups = 0x105C;
// Queries of vendors' extensions; the numbers are the extensions' own.
constexpr cl_device_info kIntelSubGroupSizes = 0x4108, kNvCapabilityMajor = 0x4000, kNvCapabilityMinor = 0x4001,
                         kNvWarpSize = 0x4003, kAmdWavefrontWidth = 0x4043;

std::string text_of(const OpenclApi& cl, cl_device_id id, cl_device_info what) {
  size_t n = 0;
  if (cl.clGetDeviceInfo(id, what, 0, nullptr, &n) != CL_SUCCESS || n == 0) return "";
  std::string text(n, '\0');
  if (cl.clGetDeviceInfo(id, what, n, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(std::char_traits<char>::length(text.c_str()));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

template <class T>
T number_of(const OpenclApi& cl, cl_device_id id, cl_device_info what, T otherwise = 0) {
  T value = 0;
  return cl.clGetDeviceInfo(id, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

template <class T>
int64_t bounded(T value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

std::string platform_text(const OpenclApi& cl, cl_platform_id id, cl_platform_info what) {
  size_t n = 0;
  if (cl.clGetPlatformInfo(id, what, 0, nullptr, &n) != CL_SUCCESS || n == 0) return "";
  std::string text(n, '\0');
  if (cl.clGetPlatformInfo(id, what, n, text.data(), nullptr) != CL_SUCCESS) return "";
  return text.substr(0, text.find('\0'));
}

// Work-items that run in step, from the device's sub-groups: the widest that Intel's can have; else the largest
// work-group divided by the most sub-groups. 1: the device reports none.
int sub_group_of(const OpenclApi& cl, cl_device_id id, const std::string& extensions, int max_threads) {
  if (extensions.find(" cl_intel_required_subgroup_size ") != extensions.npos) {
    size_t sizes[16] = {};
    if (cl.clGetDeviceInfo(id, kIntelSubGroupSizes, sizeof sizes, sizes, nullptr) == CL_SUCCESS)
      return static_cast<int>(*std::max_element(std::begin(sizes), std::end(sizes)));
  }
  const auto most = static_cast<int>(number_of<cl_uint>(cl, id, kMaxSubGroups));
  return most > 1 ? std::max(1, max_threads / most) : 1;
}

DeviceInfo info_of(const OpenclApi& cl, cl_platform_id platform, cl_device_id id) {
  DeviceInfo d;
  d.api = "opencl";
  const auto type = number_of<cl_device_type>(cl, id, CL_DEVICE_TYPE);
  d.kind = type & CL_DEVICE_TYPE_GPU ? "gpu" : type & CL_DEVICE_TYPE_CPU ? "cpu" : "accelerator";
  d.name = text_of(cl, id, CL_DEVICE_NAME);
  d.platform = platform_text(cl, platform, CL_PLATFORM_NAME);
  d.driver = text_of(cl, id, CL_DRIVER_VERSION);
  d.versions = {{"opencl", text_of(cl, id, CL_DEVICE_VERSION)},
                {"platform", platform_text(cl, platform, CL_PLATFORM_VERSION)}};
  d.memory_bytes = bounded(number_of<cl_ulong>(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE));
  d.max_buffer_bytes = bounded(number_of<cl_ulong>(cl, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  d.cache_bytes = bounded(number_of<cl_ulong>(cl, id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
  d.local_bytes = d.max_local_bytes = bounded(number_of<cl_ulong>(cl, id, CL_DEVICE_LOCAL_MEM_SIZE));
  d.compute_units = static_cast<int>(number_of<cl_uint>(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS));
  size_t threads = number_of<size_t>(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1);
  size_t dimensions[16] = {};
  if (cl.clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof dimensions, dimensions, nullptr) == CL_SUCCESS &&
      dimensions[0] > 0)
    threads = std::min(threads, dimensions[0]);
  d.max_threads = static_cast<int>(std::min<size_t>(threads, std::numeric_limits<int>::max()));
  // OpenCL bounds the number of threads by the size of an address only; generated code counts blocks in 32 bits.
  d.max_blocks = std::numeric_limits<int32_t>::max();
  const std::string extensions = " " + text_of(cl, id, CL_DEVICE_EXTENSIONS) + " ";
  const auto has = [&](const std::string& extension) {
    return extensions.find(" " + extension + " ") != extensions.npos;
  };
  d.fp16 = has("cl_khr_fp16");
  d.fp64 = number_of<cl_device_fp_config>(cl, id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  if (has("cl_nv_device_attribute_query")) {
    d.capability_major = static_cast<int>(number_of<cl_uint>(cl, id, kNvCapabilityMajor));
    d.capability_minor = static_cast<int>(number_of<cl_uint>(cl, id, kNvCapabilityMinor));
    d.warp = static_cast<int>(number_of<cl_uint>(cl, id, kNvWarpSize, 1));
  } else if (has("cl_amd_device_attribute_query")) {
    d.warp = static_cast<int>(number_of<cl_uint>(cl, id, kAmdWavefrontWidth, 1));
  }
  if (d.warp <= 1) d.warp = sub_group_of(cl, id, extensions, d.max_threads);
  d.warp = std::max(d.warp, 1);
  return d;
}

// Why the device cannot be used; empty when it can.
std::string unfit(const OpenclApi& cl, cl_device_id id) {
  const std::string version = text_of(cl, id, CL_DEVICE_VERSION);
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2)
    return fmt::format("its version is '{}'", version);
  if (major < 1 || (major == 1 && minor < 2)) return fmt::format("it has OpenCL {}.{}; 1.2 is needed", major, minor);
  if (!number_of<cl_bool>(cl, id, CL_DEVICE_AVAILABLE)) return "it is not available";
  if (!number_of<cl_bool>(cl, id, CL_DEVICE_COMPILER_AVAILABLE)) return "it has no compiler";
  return "";
}

class OpenclDriver final : public DeviceDriver {
 public:
  explicit OpenclDriver(std::shared_ptr<const OpenclApi> api) : api_(std::move(api)) {}

  Status discover() {
    const OpenclApi& cl = *api_;
    cl_uint n = 0;
    // The loader answers with an error, not with zero, when no platform is installed.
    if (cl.clGetPlatformIDs(0, nullptr, &n) != CL_SUCCESS || n == 0)
      return absl::NotFoundError("no OpenCL device: the loader knows no platform (no driver in /etc/OpenCL/vendors)");
    std::vector<cl_platform_id> platforms(n);
    HONE_RETURN_IF_ERROR(opencl_status(cl.clGetPlatformIDs(n, platforms.data(), nullptr), "listing OpenCL platforms"));
    for (const cl_platform_id platform : platforms) add_devices(platform);
    if (devices_.empty()) return absl::NotFoundError(fmt::format("no OpenCL device: {}", fmt::join(skipped_, "; ")));
    return absl::OkStatus();
  }

 private:
  void add_devices(cl_platform_id platform) {
    const OpenclApi& cl = *api_;
    cl_uint n = 0;
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS) n = 0;
    std::vector<cl_device_id> ids(n);
    if (n > 0 && cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids.data(), nullptr) != CL_SUCCESS) ids.clear();
    if (ids.empty())
      skipped_.push_back(fmt::format("platform '{}' has no devices", platform_text(cl, platform, CL_PLATFORM_NAME)));
    for (const cl_device_id id : ids) {
      if (const std::string why = unfit(cl, id); !why.empty()) {
        skipped_.push_back(fmt::format("'{}' cannot be used: {}", text_of(cl, id, CL_DEVICE_NAME), why));
        continue;
      }
      ids_.push_back(id);
      devices_.push_back(info_of(cl, platform, id));
    }
  }

  StatusOr<std::unique_ptr<Device>> do_open(size_t index, const DeviceOptions& options) const override {
    return open_opencl_device(api_, ids_[index], devices_[index], options);
  }

  std::shared_ptr<const OpenclApi> api_;
  std::vector<cl_device_id> ids_;
};

}  // namespace

StatusOr<std::unique_ptr<DeviceDriver>> load_opencl(const OpenclOptions& options) {
  HONE_ASSIGN_OR_RETURN(auto api, OpenclApi::load(options.library));
  auto driver = std::make_unique<OpenclDriver>(std::move(api));
  HONE_RETURN_IF_ERROR(driver->discover());
  return driver;
}

}  // namespace hone
