#include "compiler/runtime/gpu/opencl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::HasSubstr;

TEST(Opencl, AMissingLoaderIsAnAnswer) {
  const auto driver = load_opencl({.library = "libNoSuchOpenCL.so.1"});
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(driver.status()), HasSubstr("libNoSuchOpenCL.so.1"));
}

TEST(Opencl, ALibraryThatIsNoLoaderIsNamed) {
  const auto driver = load_opencl({.library = "libm.so.6"});
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(driver.status()), HasSubstr("libm.so.6 has no clGetPlatformIDs"));
}

}  // namespace
}  // namespace hone
