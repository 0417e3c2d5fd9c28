#include "compiler/cli/denormals.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(DenormalsFlag, IsOfCpus) {
  const Target cpu = Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64"), gpu = Target::parse("opencl -sms=2");
  EXPECT_EQ(*denormals_for("", cpu), kUsualDenormals);
  EXPECT_EQ(*denormals_for("zero", cpu), Denormals::kZero);
  EXPECT_EQ(*denormals_for("keep", cpu), Denormals::kKeep);
  EXPECT_EQ(*denormals_for("", gpu), Denormals::kKeep);
  EXPECT_EQ(*denormals_for("keep", gpu), Denormals::kKeep);
  const auto refused = denormals_for("zero", gpu);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(message_of(refused.status()), "--denormals zero is for CPUs: opencl keeps denormals, at full speed");
}

}  // namespace
}  // namespace hone
