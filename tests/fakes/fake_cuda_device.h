// The first device of a fake CUDA driver (fake_cuda.h), in a state of its own.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "compiler/runtime/gpu/cuda_driver.h"
#include "tests/fakes/fake_cuda.h"

namespace hone {

struct FakeCudaDevice {
  FakeCuda* fake;  ///< of the driver, for good
  std::unique_ptr<DeviceDriver> driver;
  std::unique_ptr<Device> device;

  /// `library`: the shared object of the driver. Without NVRTC. Calls made while opening it are forgotten.
  explicit FakeCudaDevice(const std::string& library) {
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!loaded) throw std::runtime_error(dlerror());
    fake = reinterpret_cast<FakeCudaReset>(dlsym(loaded, kFakeCudaReset))();
    CudaOptions options;
    options.library = library;
    options.nvrtc.libraries = {"libNoSuchNvrtc.so"};
    driver = *load_cuda(options);
    device = *driver->open(0);
    fake->calls.clear();
  }
};

}  // namespace hone
