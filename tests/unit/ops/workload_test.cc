#include "compiler/ops/workload.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/reference.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string canonical(const std::string& text) { return to_string(Workload::parse(text)); }

std::string refusal(const std::string& text) {
  try {
    Workload::parse(text);
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Workload, PrintsEveryAttribute) {
  EXPECT_EQ(canonical("conv2d()"), "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHWc,dtype=f32,epilogue=none)");
  EXPECT_EQ(canonical(" dense( m = 3 , k=5) "), "dense(m=3,n=768,k=5,dtype=f32,epilogue=none)");
}

TEST(Workload, RoundTripsThroughItsText) {
  for (const char* text : {"conv2d(ci=3,pad=0:1:2:3,stride=2x1,layout=NCHW8c:16c,epilogue=bias+add+relu)", "depthwise_conv2d(c=7,dilation=1x2)",
                           "batch_matmul(b=2,m=3,n=4,k=5)", "dense(dtype=u8:s8:s32:s32)"})
    EXPECT_EQ(canonical(canonical(text)), canonical(text));
}

TEST(Workload, AbbreviatesWhatIsEqual) {
  EXPECT_THAT(canonical("conv2d(stride=2x2,pad=1:2:1:2,dilation=3x3,dtype=f32:f32:f32:f32,layout=NCHW8c:8c)"), HasSubstr("stride=2,pad=1x2,dilation=3,groups=1,layout=NCHW8c,dtype=f32"));
  EXPECT_THAT(canonical("conv2d(pad=2:2:2:2)"), HasSubstr("pad=2,"));
}

TEST(Workload, OneChannelAGroupIsDepthwise) {
  EXPECT_EQ(canonical("conv2d(ci=32,co=32,groups=32)"), "depthwise_conv2d(n=1,c=32,h=56,w=56,kh=3,kw=3,stride=1,pad=1,dilation=1,layout=NCHWc,dtype=f32,epilogue=none)");
}

TEST(Workload, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("conv3d()"), HasSubstr("unknown task 'conv3d'; known: conv2d, depthwise_conv2d, dense, batch_matmul"));
  EXPECT_THAT(refusal("conv2d"), HasSubstr("is not of the form task(attribute=value,...)"));
  EXPECT_THAT(refusal("conv2d(h=0)"), HasSubstr("h=0 is not a whole number from 1"));
  EXPECT_THAT(refusal("conv2d(pad=-1)"), HasSubstr("pad=-1 is not a whole number from 0"));
  EXPECT_THAT(refusal("conv2d(pad=1:2:3)"), HasSubstr("TOP:LEFT:BOTTOM:RIGHT"));
  EXPECT_THAT(refusal("conv2d(stride=1x2x3)"), HasSubstr("neither one number nor HxW"));
  EXPECT_THAT(refusal("conv2d(kh=9,h=5,pad=1)"), HasSubstr("larger than the padded input 7x58"));
  EXPECT_THAT(refusal("conv2d(groups=3)"), HasSubstr("groups=3 does not divide"));
  EXPECT_THAT(refusal("conv2d(layout=CHWN)"), HasSubstr("layout=CHWN is unknown"));
  EXPECT_THAT(refusal("conv2d(layout=NCHW0c)"), HasSubstr("layout=NCHW0c is unknown"));
  EXPECT_THAT(refusal("conv2d(dtype=f16)"), HasSubstr("dtype=f16 is not supported; allowed: f32"));
  EXPECT_THAT(refusal("conv2d(epilogue=gelu)"), HasSubstr("'gelu' is unknown"));
  EXPECT_THAT(refusal("conv2d(epilogue=relu+relu)"), HasSubstr("'relu' is given twice"));
  EXPECT_THAT(refusal("conv2d(x=1)"), HasSubstr("unknown attribute 'x'; it has n, ci,"));
  EXPECT_THAT(refusal("conv2d(h=1,h=2)"), HasSubstr("'h' is given twice"));
  EXPECT_THAT(refusal("conv2d(h=)"), HasSubstr("'h' has no value"));
  EXPECT_THAT(refusal("conv2d(n=?)"), HasSubstr("not supported yet"));
  EXPECT_THAT(refusal("batch_matmul(b=2,m=16777216,n=16777216)"), HasSubstr("more than 2^48 elements"));
}

TEST(Workload, CountsTheDirectAlgorithmsOperations) {
  EXPECT_DOUBLE_EQ(flops(Workload::parse("conv2d()")), 2.0 * 64 * 56 * 56 * 64 * 9);
  EXPECT_DOUBLE_EQ(flops(Workload::parse("depthwise_conv2d(c=8,h=4,w=4)")), 2.0 * 8 * 16 * 9);
  EXPECT_DOUBLE_EQ(flops(Workload::parse("batch_matmul(b=2,m=3,n=4,k=5)")), 2.0 * 2 * 3 * 4 * 5);
}

TEST(Reference, SamplesIncludeEveryCornerAndTheTails) {
  const Workload w = Workload::parse("dense(m=1021,n=2039,k=997)");
  const auto samples = reference_samples(w, 1, 1e6);
  EXPECT_GE(samples.size(), 16384u);
  const std::set<int64_t> all(samples.begin(), samples.end());
  EXPECT_EQ(all.size(), samples.size());
  for (int64_t m : {0, 1020})
    for (int64_t n : {0, 2038}) EXPECT_TRUE(all.count(m * 2039 + n));
  for (int64_t tail = 0; tail < 16; ++tail) {
    EXPECT_TRUE(std::any_of(samples.begin(), samples.end(), [&](int64_t s) { return s / 2039 == 1020 - tail; }));
    EXPECT_TRUE(std::any_of(samples.begin(), samples.end(), [&](int64_t s) { return s % 2039 == 2038 - tail; }));
  }
  EXPECT_TRUE(reference_samples(Workload::parse("dense(m=8,n=8,k=8)"), 1).empty());
}

}  // namespace
}  // namespace hone
