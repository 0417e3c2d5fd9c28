// What templates make is legal and proved in bounds, for random configs of ordinary and odd shapes, and survives the wire.
#include <gtest/gtest.h>

#include <random>

#include "compiler/arith/verify.h"
#include "compiler/build.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/reference.h"

namespace hone {
namespace {

class VerifyTemplates : public testing::TestWithParam<const char*> {};

TEST_P(VerifyTemplates, LeaveNoAccessUnproved) {
  const Workload w = Workload::parse(GetParam());
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  std::mt19937_64 rng(11);  // over all shapes more than 10,000 configs
  std::vector<Config> configs{space.default_config()};
  for (int n = 0; n < 460; ++n)
    if (const auto c = space.sample(rng)) configs.push_back(*c);
  for (const Config& config : configs) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const auto unproved = verify(m);
    ASSERT_TRUE(unproved.empty()) << unproved[0].access << "\n" << to_string(m);
  }
}

TEST_P(VerifyTemplates, ReferenceIsLegal) {
  // Some of its accesses depend on the sampled indices, which are read from memory: those are checked when it runs.
  EXPECT_NO_THROW(verify(reference_module(Workload::parse(GetParam()), 100, 2)));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, VerifyTemplates,
    testing::Values("dense(m=1,n=37,k=19)", "dense(m=33,n=70,k=64)", "dense(m=512,n=512,k=512)", "dense(m=16,n=64,k=48,epilogue=bias+relu)", "dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32)",
                    "batch_matmul(b=3,m=17,n=29,k=8)", "batch_matmul(b=1,m=1,n=1,k=1)", "conv2d(ci=64,h=56,w=56,co=64)", "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)",
                    "conv2d(ci=8,h=9,w=11,co=13,pad=0)", "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)", "conv2d(ci=12,h=10,w=13,co=18,groups=3,dilation=2,pad=2)",
                    "conv2d(ci=5,h=8,w=8,co=7,pad=0:1:2:3,stride=1x2)", "conv2d(ci=16,h=8,w=8,co=16,epilogue=bias+add+relu)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NCHW)",
                    "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NHWC)", "conv2d(ci=16,h=8,w=8,co=32,layout=NCHW8c:16c)", "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)",
                    "depthwise_conv2d(c=32,h=14,w=14)", "depthwise_conv2d(c=19,h=15,w=9,stride=2)", "depthwise_conv2d(c=7,h=12,w=12,pad=0:1:0:2,dilation=2)",
                    "depthwise_conv2d(c=24,h=6,w=6,layout=NHWC)"));

}  // namespace
}  // namespace hone
