#include "compiler/target/target.h"

#include <gmock/gmock.h>

#include "base/check.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  try {
    Target::parse(text);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Target, CanonicalTextRoundTrips) {
  for (const char* text :
       {"llvm", "llvm -threads=4", "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2",
        "llvm -mtriple=x86_64-linux -mcpu=znver4 -mattr=-avx512bf16 -threads=8 -l1=48K -l2=2048K",
        "llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=4 -l3=100", "llvm -mtriple=aarch64-linux"}) {
    const Target t = Target::parse(text);
    EXPECT_EQ(to_string(t), text);
    EXPECT_EQ(Target::parse(to_string(t)), t);
  }
}

TEST(Target, LeavesOutWhatTheTableKnows) {
  EXPECT_EQ(to_string(Target::parse("llvm -l2=1024K -mcpu=znver5  -mtriple=x86_64-linux -threads=2")),
            "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2");
  EXPECT_EQ(to_string(Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5 -l2=2M")),
            "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=1 -l2=2048K");
}

TEST(Target, ReadsTheTableOfCpus) {
  const Target zen = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5");
  EXPECT_EQ(zen.vector_bits, 512);
  EXPECT_EQ(zen.vector_registers, 32);
  EXPECT_EQ(zen.l2_bytes, 1 << 20);
  EXPECT_EQ(zen.lanes(32), 16);
  EXPECT_EQ(Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell").vector_bits, 256);
  EXPECT_EQ(Target::parse("llvm -mtriple=aarch64-linux -mcpu=neoverse-n1").vector_bits, 128);
  // An unknown model of a known architecture is taken for the generic one.
  EXPECT_EQ(cpu_defaults("x86_64", "new").vector_bits, cpu_defaults("x86_64", "x86-64").vector_bits);
}

TEST(Target, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("vulkan"), "target kind 'vulkan' is unknown; allowed: llvm, cuda, opencl");
  EXPECT_THAT(error_of(""), HasSubstr("allowed kinds: llvm, cuda, opencl"));
  EXPECT_THAT(error_of("llvm -cpu=x"), HasSubstr("flag '-cpu' is unknown; allowed: -mtriple -mcpu"));
  EXPECT_THAT(error_of("llvm -mcpu=znver5"), HasSubstr("-mcpu=znver5 needs -mtriple"));
  EXPECT_THAT(error_of("llvm -mtriple=riscv64-linux"), HasSubstr("allowed: x86_64-linux, aarch64-linux"));
  EXPECT_THAT(error_of("llvm -threads=0"), HasSubstr("-threads=0 must be a number from 1 to 4096"));
  EXPECT_THAT(error_of("llvm -threads=two"), HasSubstr("must be a number"));
  EXPECT_THAT(error_of("llvm -l2=99999999999999999999K"), HasSubstr("must be a number"));
  EXPECT_THAT(error_of("llvm -threads"), HasSubstr("needs a value"));
  EXPECT_THAT(error_of("llvm -threads=1 -threads=2"), HasSubstr("given twice"));
}

TEST(Target, TakesWhatItLeavesOpenFromTheDevice) {
  const Target device = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=8 -l3=16M");
  EXPECT_EQ(Target::parse("llvm").completed_by(device), device);
  Target two = device;
  two.threads = 2;
  EXPECT_EQ(Target::parse("llvm -threads=2").completed_by(device), two);
  Target one = two;
  one.threads = 1;
  EXPECT_EQ(Target::parse("llvm -threads=1").completed_by(two), one);
  EXPECT_EQ(Target::parse("llvm -mtriple=x86_64-linux -threads=1").completed_by(two), one);
  EXPECT_EQ(to_string(Target::parse("llvm -threads=1")), "llvm -threads=1");
  EXPECT_EQ(to_string(Target::parse("llvm")), "llvm");
  const Target other = Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell -threads=2");
  EXPECT_EQ(other.completed_by(device), other);
  EXPECT_THROW(Target::parse("llvm -mtriple=aarch64-linux").completed_by(device), UserError);
  Target gpu = device;
  gpu.kind = "cuda";
  EXPECT_THROW(Target::parse("llvm").completed_by(gpu), UserError);
}

}  // namespace
}  // namespace hone
