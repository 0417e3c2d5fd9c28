#include "compiler/runtime/device.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(TargetText, SaysWhatAGpuIs) {
  DeviceInfo d{.api = "cuda", .arch = "sm_90"};
  d.compute_units = 132, d.local_bytes = 48 << 10, d.max_threads = 1024, d.warp = 32;
  EXPECT_EQ(target_text(d), "cuda -arch=sm_90 -sms=132 -shared=49152 -max-threads=1024");
  d.max_local_bytes = 227 << 10;
  EXPECT_EQ(target_text(d), "cuda -arch=sm_90 -sms=132 -shared=232448 -max-threads=1024");
}

TEST(TargetText, StaysWithinWhatTargetsMaySay) {
  DeviceInfo d{.api = "opencl"};
  d.compute_units = 0, d.local_bytes = 2 << 20, d.max_threads = 4096, d.warp = 512;
  EXPECT_EQ(target_text(d), "opencl -sms=1 -shared=2097152 -max-threads=1024 -warp=128");
}

}  // namespace
}  // namespace hone
