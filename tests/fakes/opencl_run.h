// Runs a module on an OpenCL device.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/gpu/opencl.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/logical_elements.h"

namespace hone {

template <class T>
T ok_or_throw(StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}
inline void ok_or_throw(const Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

/// PoCL compiles without LLVM's optimizations while this lives, in half of the time: what a program computes is to be
/// seen, not how fast. With them where all random cases are drawn.
class QuickPocl {
 public:
  QuickPocl() {
    if (!draws_all()) setenv(kFlags, "-cl-opt-disable", 1);
  }
  ~QuickPocl() {
    if (!draws_all()) unsetenv(kFlags);
  }
  QuickPocl(const QuickPocl&) = delete;
  QuickPocl& operator=(const QuickPocl&) = delete;

 private:
  static constexpr const char* kFlags = "POCL_EXTRA_BUILD_FLAGS";
};

/// Logical elements of the outputs of `m`, one output behind the other, on `device`. Throws the device's error.
inline std::vector<char> run_on(Device& device, const Module& m, const std::vector<std::vector<char>>& inputs) {
  const GpuSource source = emit_gpu(m, "opencl");
  SCOPED_TRACE(source.text);
  const auto program = ok_or_throw(device.compile(source.text));
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<DeviceBuffer*> args;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    std::vector<char> physical(static_cast<size_t>(p.layout.physical_size() * p.dtype.bytes()), '\xff');
    if (i < inputs.size()) pack(inputs[i].data(), physical.data(), p.shape, p.layout, p.dtype.bytes());
    buffers.push_back(ok_or_throw(device.allocate(static_cast<int64_t>(physical.size()))));
    ok_or_throw(device.write(*buffers.back(), physical.data(), static_cast<int64_t>(physical.size())));
    args.push_back(buffers.back().get());
  }
  if (m.workspace_bytes > 0) {
    buffers.push_back(ok_or_throw(device.allocate(m.workspace_bytes)));
    args.push_back(buffers.back().get());
  }
  for (const GpuLaunch& l : source.launches)
    ok_or_throw(device.launch(*ok_or_throw(program->kernel(l.kernel)), l.shape, args));
  ok_or_throw(device.synchronize());
  std::vector<char> out;
  for (size_t i = inputs.size(); i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    std::vector<char> physical(static_cast<size_t>(p.layout.physical_size() * p.dtype.bytes()));
    ok_or_throw(device.read(*args[i], physical.data(), static_cast<int64_t>(physical.size())));
    append_logical(physical.data(), p, &out);
  }
  return out;
}

}  // namespace hone
