// What templates make is legal and proved in bounds, for random configs of ordinary and odd shapes, and survives the
// wire.
#include <gtest/gtest.h>

#include <random>

#include "compiler/arith/unproved_accesses.h"
#include "compiler/arith/verify.h"
#include "compiler/build.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/reference.h"

namespace hone {
namespace {

// Legalizing takes ten times as long as verifying: one of so many configs has that proof, too.
constexpr int kEmitted = 8;

// The passes between the proof and machine code lose none: no candidate pays for checks when it runs.
void expect_proved_as_emitted(const Module& m) {
  const auto expect = [](const Function& f, int vector_bits) {
    const auto unproved = unproved_accesses(legalize(f.body, vector_bits));
    EXPECT_TRUE(unproved.empty()) << f.name << " as emitted: " << unproved[0].access;
  };
  for (const Function& f : m.kernels) expect(f, m.vector_bits > 0 ? m.vector_bits : 512);
  for (const Prepack& p : m.prepacks) expect(p.function, 512);
}

class VerifyTemplates : public testing::TestWithParam<const char*> {};

TEST_P(VerifyTemplates, LeaveNoAccessUnproved) {
  const Workload w = Workload::parse(GetParam());
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  std::mt19937_64 rng(11);  // over all shapes more than 20,000 configs
  std::vector<Config> configs{space.default_config()};
  for (int n = 0; n < 460; ++n)
    if (const auto c = space.sample(rng)) configs.push_back(*c);
  int tried = 0;
  for (const Config& config : configs) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const auto unproved = verify(m);
    ASSERT_TRUE(unproved.empty()) << unproved[0].access << "\n" << to_string(m);
    if (++tried % kEmitted == 1) expect_proved_as_emitted(m);
  }
}

TEST_P(VerifyTemplates, ReferenceIsLegal) {
  // Some of its accesses depend on the sampled indices, which are read from memory: those are checked when it runs.
  EXPECT_NO_THROW(verify(reference_module(Workload::parse(GetParam()), 100, 2)));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, VerifyTemplates,
    testing::Values(
        "dense(m=1,n=37,k=19)", "dense(m=3,n=37,k=640,epilogue=bias)", "batch_matmul(b=2,m=3,n=21,k=384)",
        "dense(m=33,n=70,k=64)", "dense(m=512,n=512,k=512)", "dense(m=16,n=64,k=48,epilogue=bias+relu)",
        "dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32)", "batch_matmul(b=3,m=17,n=29,k=8)", "batch_matmul(b=1,m=1,n=1,k=1)",
        "conv2d(ci=64,h=56,w=56,co=64)", "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)",
        "conv2d(ci=8,h=9,w=11,co=13,pad=0)", "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)",
        "conv2d(ci=12,h=10,w=13,co=18,groups=3,dilation=2,pad=2)", "conv2d(ci=5,h=8,w=8,co=7,pad=0:1:2:3,stride=1x2)",
        "conv2d(ci=16,h=8,w=8,co=16,epilogue=bias+add+relu)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NCHW)",
        "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NHWC)", "conv2d(ci=16,h=8,w=8,co=32,layout=NCHW8c:16c)",
        "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)", "depthwise_conv2d(c=32,h=14,w=14)",
        "depthwise_conv2d(c=19,h=15,w=9,stride=2)", "depthwise_conv2d(c=7,h=12,w=12,pad=0:1:0:2,dilation=2)",
        "depthwise_conv2d(c=24,h=6,w=6,layout=NHWC)", "max_pool2d(c=64,h=112,w=112)",
        "max_pool2d(c=19,h=15,w=9,kh=2,stride=1x2,pad=0:1:1:0)", "max_pool2d(c=12,h=9,w=11,dilation=2)",
        "max_pool2d(n=2,c=5,h=13,w=37,layout=NCHW)", "max_pool2d(c=24,h=6,w=6,layout=NHWC)",
        "max_pool2d(c=16,h=7,w=7,layout=NCHW8c)", "avg_pool2d(c=19,h=15,w=9,kh=3,kw=3,pad=1)",
        "avg_pool2d(c=32,h=8,w=8,kh=3,kw=3,stride=1,pad=1,count_include_pad=1)",
        "avg_pool2d(n=2,c=5,h=13,w=21,kh=3,pad=1x0,layout=NCHW)", "avg_pool2d(c=64,h=7,w=7,kh=7,kw=7,stride=1)",
        "avg_pool2d(c=8,h=5,w=5,kh=2,kw=2,dilation=3,pad=2,stride=1)", "elementwise()",
        "elementwise(op=mul+add+gelu,shape=2x19x7x5,operands=1x19x1x1:same)",
        "elementwise(op=exp+sub,shape=100x37,operands=1x37)", "elementwise(op=div,shape=9x1x70,operands=9x1x1)",
        "elementwise(op=gelu+gelu+gelu+gelu+silu+gelu,shape=6x50)", "elementwise(op=tanh,shape=1)", "reduce()",
        "reduce(op=mean,shape=128x768,axes=1)", "reduce(op=max,shape=37x70,axes=0)",
        "reduce(op=min,shape=7x33x5,axes=1,keepdims=1)", "reduce(op=sum,shape=6x32x100,axes=0:2)",
        "reduce(op=sum,shape=100003,axes=all)", "reduce(op=mean,shape=64x1000,axes=all)",
        "reduce(op=max,shape=3x4,axes=-1)", "reduce(op=sum,shape=4099x3,axes=0)", "reduce(op=sum,shape=1x1,axes=all)"));

}  // namespace
}  // namespace hone
