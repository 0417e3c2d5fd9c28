// One GPU that two drivers list, and how an agent offers it.
#include "rpc/agent/device/device_discovery.h"

#include <gtest/gtest.h>

#include "compiler/target/gpu_kinds.h"
#include "rpc/agent/sandbox/sandbox_profile.h"

namespace hone::agent {
namespace {

TEST(DeviceDiscovery, AGpuIsOfferedByOneDriverOnly) {
  FoundDevice cuda;
  cuda.spec = {device_kind_of("cuda").value(), 0, 13};
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
  std::vector<DeviceKind> kinds = gpu_device_kinds();
  ASSERT_EQ(kinds.size(), gpu_kinds().size());
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(target_kind_of(kinds[i]), gpu_kinds()[i].name);
  EXPECT_EQ(target_kind_of(DeviceKind::kCpu), "llvm");
  kinds.push_back(DeviceKind::kCpu);
  for (const DeviceKind kind : kinds) {
    EXPECT_EQ(device_kind_of(target_kind_of(kind)), kind);
    EXPECT_TRUE(is_known(kind));
    for (const SandboxRole role : {SandboxRole::kBuilder, SandboxRole::kRunner, SandboxRole::kCandidate})
      EXPECT_NE(sandbox_profile(target_kind_of(kind), role), nullptr);
  }
  EXPECT_FALSE(is_known(static_cast<DeviceKind>(gpu_device_kinds().size() + 1)));
}

}  // namespace
}  // namespace hone::agent
