#include "compiler/target/occupancy.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// The figures are those of NVIDIA's occupancy calculator.
int64_t warps(const char* arch, const BlockNeeds& block) {
  return resident_warps(Target::parse(std::string("cuda -arch=") + arch), block);
}

TEST(Occupancy, RegistersLimitTheBlocksOfAMultiprocessor) {
  EXPECT_EQ(warps("sm_90", {.threads = 256, .registers = 32}), 64);
  EXPECT_EQ(warps("sm_90", {.threads = 256, .registers = 64}), 32);
  EXPECT_EQ(warps("sm_90", {.threads = 256, .registers = 65}), 24);  // in units of 8 a thread
  EXPECT_EQ(warps("sm_90", {.threads = 256, .registers = 255}), 8);
  EXPECT_EQ(warps("sm_90", {.threads = 1024, .registers = 64}), 32);
}

TEST(Occupancy, IsNothingWhereNoBlockFits) {
  EXPECT_EQ(warps("sm_90", {.threads = 1024, .registers = 65}), 0);
  EXPECT_EQ(warps("sm_90", {.threads = 32, .registers = 256}), 0);
  EXPECT_EQ(warps("sm_90", {.threads = 1056, .registers = 16}), 0);
  EXPECT_EQ(warps("sm_90", {.threads = 32, .registers = 16, .shared_bytes = 300 << 10}), 0);
  // The small ones give a block half of the registers.
  EXPECT_EQ(warps("sm_53", {.threads = 1024, .registers = 32}), 64);
  EXPECT_EQ(warps("sm_53", {.threads = 1024, .registers = 33}), 0);
  EXPECT_EQ(warps("sm_60", {.threads = 1024, .registers = 33}), 32);
}

TEST(Occupancy, SharedMemoryBlocksAndWarpsLimitItToo) {
  EXPECT_EQ(warps("sm_90", {.threads = 128, .registers = 16, .shared_bytes = 48 << 10}), 4 * 4);  // 49 KiB each of 228
  EXPECT_EQ(warps("sm_75", {.threads = 128, .registers = 16, .shared_bytes = 48 << 10}), 4);
  EXPECT_EQ(warps("sm_90", {.threads = 32, .registers = 16}), 32);  // 32 blocks
  EXPECT_EQ(warps("sm_75", {.threads = 32, .registers = 16}), 16);
  EXPECT_EQ(warps("sm_86", {.threads = 1024, .registers = 16}), 32);  // 48 warps hold one block of 32
  EXPECT_EQ(warps("sm_90", {.threads = 33, .registers = 16}), 64);    // two warps each
}

TEST(Occupancy, OfADeviceThatTellsLittleIsThatOfABlock) {
  const Target target = Target::parse("opencl -sms=2 -shared=32K -max-threads=256 -warp=16");
  EXPECT_EQ(resident_warps(target, {.threads = 64, .registers = 32, .shared_bytes = 32 << 10}), 4);
  EXPECT_EQ(resident_warps(target, {.threads = 512}), 0);
  EXPECT_EQ(resident_warps(target, {.threads = 64, .shared_bytes = 33 << 10}), 0);
  EXPECT_EQ(least_warps(target), 1);
  EXPECT_EQ(least_warps(Target::parse("cuda -arch=sm_80")), 4);
}

}  // namespace
}  // namespace hone
