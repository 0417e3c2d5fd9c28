// One GPU that two drivers list, and how an agent offers it.
#include "rpc/agent/device/device_discovery.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

TEST(DeviceDiscovery, AGpuIsOfferedByOneDriverOnly) {
  FoundDevice cuda;
  cuda.spec = {DeviceKind::kCuda, 0, 13};
  cuda.model = "NVIDIA H100";
  const DeviceInfo twin{.api = "opencl", .name = "NVIDIA H100", .platform = "NVIDIA CUDA"};
  EXPECT_EQ(offered_as(twin, {cuda}), "cuda");
  EXPECT_EQ(offered_as(twin, {}), "") << "only OpenCL was asked for, or CUDA does not start";
  const DeviceInfo other{.api = "opencl", .name = "cpu-haswell", .platform = "Portable Computing Language"};
  EXPECT_EQ(offered_as(other, {cuda}), "");
  const DeviceInfo second{.api = "cuda", .name = "NVIDIA H100", .platform = "NVIDIA CUDA"};
  EXPECT_EQ(offered_as(second, {cuda}), "") << "a machine may have several";
}

TEST(DeviceKinds, AreTheRowsOfTheTable) {
  EXPECT_EQ(gpu_device_kinds(), (std::vector<DeviceKind>{DeviceKind::kCuda, DeviceKind::kOpencl}));
  EXPECT_EQ(target_kind_of(DeviceKind::kCpu), "llvm");
  EXPECT_EQ(target_kind_of(DeviceKind::kCuda), "cuda");
  EXPECT_EQ(target_kind_of(DeviceKind::kOpencl), "opencl");
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kOpencl}) {
    EXPECT_EQ(device_kind_of(target_kind_of(kind)), kind);
    EXPECT_TRUE(is_known(kind));
    for (const SandboxRole role : {SandboxRole::kBuilder, SandboxRole::kRunner, SandboxRole::kCandidate})
      EXPECT_NE(sandbox_profile(kind, role), nullptr);
  }
  EXPECT_FALSE(is_known(static_cast<DeviceKind>(gpu_device_kinds().size() + 1)));
}

}  // namespace
}  // namespace hone::agent
