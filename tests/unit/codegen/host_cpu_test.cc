#include "compiler/codegen/llvm/machine/host_cpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

// As Linux writes it for one core.
std::string core(int number, const char* part) {
  return fmt::format(
      "processor\t: {}\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd aes\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
      "CPU variant\t: 0x2\nCPU part\t: {}\nCPU revision\t: 0\n\n",
      number, part);
}

TEST(ArmCpuName, IsThatOfTheCoresInUse) {
  std::string rk3588;
  for (int cpu = 0; cpu < 8; ++cpu) rk3588 += core(cpu, cpu < 4 ? "0xd05" : "0xd0b");
  EXPECT_EQ(arm_cpu_name(rk3588, {0, 1}), "cortex-a55");
  EXPECT_EQ(arm_cpu_name(rk3588, {4, 5, 6, 7}), "cortex-a76");
  EXPECT_EQ(arm_cpu_name(core(0, "0xd08"), {3}), "cortex-a72") << "another numbering: all that is said";
  EXPECT_EQ(arm_cpu_name("", {0}), "generic");
}

}  // namespace
}  // namespace hone
