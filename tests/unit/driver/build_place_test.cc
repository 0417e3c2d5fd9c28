#include "compiler/driver/place/build_place.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

using testing::HasSubstr;

const Target kHere = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2"),
             kGpu = Target::parse("opencl -sms=8");
constexpr char kJetson[] = "llvm -mtriple=aarch64-linux -mcpu=cortex-a78ae";

TEST(GpuHost, IsThisMachineUnlessItIsNamed) {
  BuildRequest o;
  EXPECT_EQ(*gpu_host(o, kGpu, kHere), kHere);
  o.host = kJetson;
  EXPECT_EQ(gpu_host(o, kGpu, kHere)->arch, "aarch64");
  o.host = "llvm";
  EXPECT_EQ(gpu_host(o, kGpu, kHere)->mcpu, "znver4");
}

TEST(GpuHost, RunsAModelOnlyWhereItsCodeRuns) {
  BuildRequest o;
  o.model = "m.onnx", o.host = kJetson, o.check = true;
  const Status here = gpu_host(o, kGpu, kHere).status();
  EXPECT_THAT(std::string(here.message()), HasSubstr("cannot check, time or run code for another CPU here"));
  // A fleet's device runs kernels, and not the artifact.
  o.remote = [](const std::string&, int) -> StatusOr<std::unique_ptr<RemoteDevice>> { return nullptr; };
  EXPECT_TRUE(gpu_host(o, kGpu, kHere).ok());
}

TEST(GpuHost, IsOfAGpusArtifactAndACpu) {
  BuildRequest o;
  o.host = kJetson;
  EXPECT_THAT(std::string(gpu_host(o, kHere, kHere).status().message()),
              HasSubstr("only an artifact for a GPU has a host"));
  o.host = "opencl -sms=8";
  EXPECT_THAT(std::string(gpu_host(o, kGpu, kHere).status().message()), HasSubstr("that is not a CPU"));
}

}  // namespace
}  // namespace hone
