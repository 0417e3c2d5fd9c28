#include "compiler/runtime/gpu/gpu_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/target/gpu_kinds.h"

namespace hone {

bool is_on_device(const HoneGpuProgram& program, const DLTensor& tensor) {
  const DLDeviceType from = tensor.device.device_type;
  if (from == program.device_type) return true;
  const std::span<const int32_t> host = gpu_kind_of(program.device_type).host_device_types;
  return std::find(host.begin(), host.end(), from) != host.end();
}

int64_t element_bytes(const HoneGpuParam& p) { return (p.dtype.bits * p.dtype.lanes + 7) / 8; }

Status check_type(const HoneGpuParam& p, const DLTensor& t) {
  if (t.dtype.code == p.dtype.code && t.dtype.bits == p.dtype.bits && t.dtype.lanes == p.dtype.lanes)
    return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("parameter '{}' has type {}.{}x{}, not {}.{}x{}", p.name, t.dtype.code,
                                                t.dtype.bits, t.dtype.lanes, p.dtype.code, p.dtype.bits,
                                                p.dtype.lanes));
}

Status check_tensor(const HoneGpuProgram& program, int64_t i, const DLTensor* t, bool on_cpu) {
  const HoneGpuParam& p = program.params[i];
  if (!t || !t->data) return absl::InvalidArgumentError(fmt::format("parameter '{}' has no data", p.name));
  if (on_cpu ? t->device.device_type != kDLCPU : !is_on_device(program, *t))
    return absl::InvalidArgumentError(fmt::format("parameter '{}' is on a device of type {}, not {}", p.name,
                                                  static_cast<int>(t->device.device_type),
                                                  on_cpu ? static_cast<int>(kDLCPU) : program.device_type));
  return check_type(p, *t);
}

StatusOr<std::unique_ptr<DeviceBuffer>> wrap_tensor(Device& device, const HoneGpuProgram& program, int64_t i,
                                                    const DLTensor& tensor, int64_t bytes) {
  const bool is_address = gpu_kind_of(program.device_type).has_addresses;
  const char* const name = program.params[i].name;
  if (!is_address && tensor.byte_offset != 0)
    return absl::InvalidArgumentError(
        fmt::format("parameter '{}' begins {} bytes into its cl_mem; it must begin with it", name, tensor.byte_offset));
  void* const native = static_cast<char*>(tensor.data) + (is_address ? tensor.byte_offset : 0);
  if (is_address && reinterpret_cast<uintptr_t>(native) % 16 != 0)
    return absl::InvalidArgumentError(fmt::format("parameter '{}' is not 16-byte aligned", name));
  return device.wrap(native, bytes);
}

}  // namespace hone
