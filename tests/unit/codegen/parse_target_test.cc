#include "compiler/codegen/llvm/parse_target.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "compiler/codegen/llvm/compile.h"

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
