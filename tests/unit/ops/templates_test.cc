// Every task on ordinary and odd shapes: random configs, compiled and run, against the reference.
#include <gmock/gmock.h>

#include "tests/fakes/reference_check.h"

namespace hone {
namespace {

class Templates : public testing::TestWithParam<const char*> {};

TEST_P(Templates, ComputeWhatTheReferenceComputes) { expect_configs_match_reference(Workload::parse(GetParam()), 12, 7); }

INSTANTIATE_TEST_SUITE_P(
    Shapes, Templates,
    testing::Values("dense(m=1,n=37,k=19)", "dense(m=33,n=70,k=64)", "dense(m=16,n=64,k=48,epilogue=bias+relu)", "dense(m=7,n=5,k=3,epilogue=add+bias)",
                    "dense(m=20,n=48,k=32,dtype=f64)", "dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32)", "batch_matmul(b=3,m=17,n=29,k=8)", "batch_matmul(b=2,m=32,n=64,k=16)",
                    "batch_matmul(b=1,m=1,n=1,k=1)", "conv2d(ci=16,h=14,w=14,co=32)", "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)",
                    "conv2d(ci=8,h=9,w=11,co=13,pad=0)", "conv2d(ci=16,h=7,w=7,co=24,kh=1,kw=1,pad=0)", "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)",
                    "conv2d(ci=12,h=10,w=13,co=18,groups=3,dilation=2,pad=2)", "conv2d(ci=5,h=8,w=8,co=7,pad=0:1:2:3,stride=1x2)",
                    "conv2d(ci=16,h=8,w=8,co=16,epilogue=bias+add+relu)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NCHW)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NHWC)",
                    "conv2d(ci=16,h=8,w=8,co=32,layout=NCHW8c:16c)", "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32)", "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)",
                    "depthwise_conv2d(c=32,h=14,w=14)", "depthwise_conv2d(c=19,h=15,w=9,stride=2)", "depthwise_conv2d(c=16,h=8,w=8,kh=5,kw=5,pad=2,epilogue=bias+relu)",
                    "depthwise_conv2d(c=7,h=12,w=12,pad=0:1:0:2,dilation=2)", "depthwise_conv2d(c=24,h=6,w=6,layout=NHWC)"));

// Convolutions as matrix products: pixels in place and gathered, over several images, of odd widths, strided and dilated.
class GemmConvolutions : public testing::TestWithParam<const char*> {};

TEST_P(GemmConvolutions, ComputeWhatTheReferenceComputes) { expect_configs_match_reference(Workload::parse(GetParam()), 6, 3, "algorithm=1,"); }

INSTANTIATE_TEST_SUITE_P(Shapes, GemmConvolutions,
                         testing::Values("conv2d(ci=16,h=7,w=7,co=24,kh=1,kw=1,pad=0)", "conv2d(n=3,ci=20,h=5,w=7,co=33,kh=1,kw=1,pad=0,epilogue=bias+add+relu)", "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)",
                                         "conv2d(n=2,ci=8,h=9,w=11,co=13,pad=0:1:2:0)", "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)", "conv2d(ci=12,h=10,w=13,co=18,dilation=2,pad=2,layout=NHWC)",
                                         "conv2d(ci=8,h=6,w=6,co=16,layout=NCHW)", "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32)", "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)"));

}  // namespace
}  // namespace hone
