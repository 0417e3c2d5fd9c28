// GPUs and arrays on them, as Python has them: what DLPack says is there is used where it lies.
#pragma once

#include <hone_gpu.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hone::python {

/// A device that is open, and with it whatever it is of (a model that has taken it).
using HeldDevice = std::shared_ptr<HoneGpuDevice>;
/// Where calls run: a device's stream. Holds the device.
using HeldRuntime = std::shared_ptr<HoneRuntime>;

/// hone_gpu_open(); raises hone.NoDevice where there is none.
HeldDevice open_device(const std::string& name);
/// Calls on `stream` (0: the device's own), which return before the device is done where `is_async`. Raises.
HeldRuntime runtime_on(const HeldDevice& device, uintptr_t stream, bool is_async);

/// Row-major elements on a device. Python's `hone.DeviceArray`.
class DeviceArray {
 public:
  /// New memory, whose contents are undefined. Raises where the device has none.
  DeviceArray(HeldDevice device, DLDataType type, std::vector<int64_t> shape);

  /// As a call takes it; lives as long as this object.
  DLTensor tensor();
  const std::vector<int64_t>& shape() const { return shape_; }
  DLDataType type() const { return type_; }
  const HeldDevice& device() const { return device_; }

  void write(const void* from);
  void read(void* to) const;
  /// Work that was sent to the runtime's stream writes the array.
  void set_pending(HeldRuntime runtime) { pending_ = std::move(runtime); }
  /// Waits for what writes it; without the GIL.
  void wait() const;

 private:
  HeldDevice device_;
  DLDataType type_;
  std::vector<int64_t> shape_;
  int64_t bytes_ = 0;
  std::shared_ptr<void> data_;
  HeldRuntime pending_;
};

/// Python's `hone.Device`.
struct Device {
  /// hone_gpu_open()'s names.
  explicit Device(const std::string& name);

  /// A dict of HoneGpuProperties' members.
  pybind11::dict properties() const;
  /// A copy of numpy's array there.
  std::shared_ptr<DeviceArray> array(const pybind11::object& values) const;

  HeldDevice held;
};

/// The classes Device and DeviceArray.
void bind_devices(pybind11::module_& m);

}  // namespace hone::python
