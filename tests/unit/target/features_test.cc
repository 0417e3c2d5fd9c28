#include <gtest/gtest.h>

#include "compiler/target/target.h"

namespace hone {
namespace {

bool has(const char* target, Feature feature) { return Target::parse(target).has(feature); }

TEST(Features, TensorCoresComeWithTheirGenerations) {
  EXPECT_FALSE(has("cuda -arch=sm_72", Feature::kMmaF16));
  EXPECT_TRUE(has("cuda -arch=sm_75", Feature::kMmaF16));
  EXPECT_TRUE(has("cuda -arch=sm_75", Feature::kMmaInt8));
  EXPECT_FALSE(has("cuda -arch=sm_75", Feature::kMmaBf16));
  for (const Feature f : {Feature::kMmaBf16, Feature::kMmaTf32, Feature::kAsyncCopy}) {
    EXPECT_TRUE(has("cuda -arch=sm_80", f));
    EXPECT_TRUE(has("cuda -arch=sm_103", f)) << "three digits are more than two";
  }
}

TEST(Features, BelongToTheirKindOfDevice) {
  EXPECT_TRUE(has("cuda -arch=sm_53", Feature::kWarpShuffle));
  EXPECT_TRUE(has("cuda -arch=sm_53", Feature::kDoubleBuffer));
  EXPECT_FALSE(has("opencl -sms=8", Feature::kWarpShuffle));
  EXPECT_FALSE(has("opencl -sms=8", Feature::kDoubleBuffer));
  EXPECT_FALSE(has("llvm -mtriple=x86_64-linux -mcpu=znver4", Feature::kMmaF16));
}

TEST(Features, ACapabilityIsTheNumberOfTheArchitecture) {
  EXPECT_EQ(Target::parse("cuda -arch=sm_90").compute_capability(), 90);
  EXPECT_EQ(Target::parse("opencl -sms=8").compute_capability(), 0);
  EXPECT_EQ(Target::parse("llvm -mtriple=aarch64-linux -mcpu=cortex-a72").compute_capability(), 0);
}

}  // namespace
}  // namespace hone
