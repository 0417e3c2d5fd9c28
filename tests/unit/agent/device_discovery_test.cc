// What an agent offers of one GPU that two drivers list.
#include "rpc/agent/device/device_discovery.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

TEST(DeviceDiscovery, AGpuIsOfferedByOneDriverOnly) {
  FoundDevice cuda;
  cuda.spec = {DeviceKind::kCuda, 0, 13};
  cuda.model = "NVIDIA H100";
  const DeviceInfo twin{.api = "opencl", .name = "NVIDIA H100", .platform = "NVIDIA CUDA"};
  EXPECT_TRUE(is_offered_as_cuda(twin, {cuda}));
  EXPECT_FALSE(is_offered_as_cuda(twin, {})) << "only OpenCL was asked for, or CUDA does not start";
  const DeviceInfo other{.api = "opencl", .name = "cpu-haswell", .platform = "Portable Computing Language"};
  EXPECT_FALSE(is_offered_as_cuda(other, {cuda}));
  const DeviceInfo second{.api = "cuda", .name = "NVIDIA H100", .platform = "NVIDIA CUDA"};
  EXPECT_FALSE(is_offered_as_cuda(second, {cuda})) << "a machine may have several";
}

}  // namespace
}  // namespace hone::agent
