// A machine is the same one to the database inside of containers and empty roots, which hide /sys.
#include <gmock/gmock.h>

#include "tests/e2e/artifact/shell.h"

namespace hone {
namespace {

using testing::HasSubstr;

// For a target that it cannot run, tensorc says which target this machine is.
const std::string kWhichTarget =
    kBin + "/tensorc --task dense --args m=8,n=16,k=16 --target 'llvm -mtriple=aarch64-linux -mcpu=cortex-a72' --bench";

TEST(HiddenSys, LeavesTheTargetAsItIs) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "without /sys only x86 says what caches it has";
#endif
  if (const Ran made = shell("unshare -rm mount -t tmpfs none /sys"); made.code != 0)
    GTEST_SKIP() << "no empty /sys can be had: " << made.output;
  const Ran seen = shell(kWhichTarget);
  ASSERT_EQ(seen.code, 3) << seen.output;
  ASSERT_THAT(seen.output, HasSubstr("here, which is 'llvm -mtriple=x86_64-linux -mcpu="));
  const Ran hidden =
      shell("unshare -rm sh -c \"mount -t tmpfs none /sys && test ! -e /sys/devices && " + kWhichTarget + "\"");
  EXPECT_EQ(hidden.code, 3);
  EXPECT_EQ(hidden.output, seen.output);
}

}  // namespace
}  // namespace hone
