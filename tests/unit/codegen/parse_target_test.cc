#include "compiler/codegen/llvm/machine/parse_target.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/host_target.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    return "accepted as " + to_string(parse_target(text));
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST(ParseTarget, ACpuOfThisMachinesArchitectureNeedsNoTriple) {
  const bool is_x86 = host_target(1).arch == "x86_64";
  const std::string ours = is_x86 ? "znver3" : "cortex-a72", theirs = is_x86 ? "cortex-a72" : "znver3",
                    triple = is_x86 ? "x86_64-linux" : "aarch64-linux";
  EXPECT_EQ(parse_target("llvm -mcpu=" + ours + " -threads=2"),
            Target::parse("llvm -mtriple=" + triple + " -mcpu=" + ours + " -threads=2"));
  EXPECT_THAT(refusal("llvm -mcpu=" + theirs), HasSubstr("target: -mcpu=" + theirs + " needs -mtriple, as LLVM knows"));
  EXPECT_THAT(refusal("llvm -mcpu=nosuch"), HasSubstr("target: -mcpu=nosuch needs -mtriple"));
}

TEST(ParseTarget, ACpuThatLlvmDoesNotKnowIsRefusedByName) {
  EXPECT_EQ(refusal("llvm -mtriple=x86_64-linux -mcpu=znver33"),
            "target: LLVM knows no -mcpu=znver33 of x86_64; did you mean znver3?");
  EXPECT_EQ(refusal("llvm -threads=2 -mtriple=aarch64-linux -mcpu=cortex-a7z"),
            "target: LLVM knows no -mcpu=cortex-a7z of aarch64; did you mean cortex-a72?");
  EXPECT_EQ(refusal("llvm -mtriple=aarch64-linux -mcpu=nothing-like-it"),
            "target: LLVM knows no -mcpu=nothing-like-it of aarch64");
  const bool is_x86 = host_target(1).arch == "x86_64";
  EXPECT_THAT(refusal(std::string("llvm -mcpu=") + (is_x86 ? "znver33" : "cortex-a722")),
              HasSubstr(is_x86 ? "; did you mean znver3?" : "; did you mean cortex-a72?"));
}

TEST(ParseTarget, OtherTextsAreWhatTheyAre) {
  for (const char* text : {"llvm", "llvm -threads=3", "llvm -mtriple=aarch64-linux -mcpu=cortex-a72", "opencl -sms=8"})
    EXPECT_EQ(parse_target(text), Target::parse(text)) << text;
  EXPECT_THAT(refusal(""), HasSubstr("target is empty"));
  EXPECT_THAT(refusal("cuda -mcpu=znver3"), HasSubstr("flag '-mcpu' is unknown"));
  EXPECT_THAT(refusal("llvm -mcpu="), HasSubstr("needs a value"));
  EXPECT_THAT(refusal("llvm -mcpu=generic -threads=0"), HasSubstr("must be a number"));
}

}  // namespace
}  // namespace hone
