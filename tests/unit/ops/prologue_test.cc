// Chains in front of an operator: their results, where they are computed, and refusals.
#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/prologue.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string refusal_of_in_prologue(const std::string& text) {
  try {
    parse_workload(text);
    return "accepted";
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST(Prologue, IsAnAttributeWithOneText) {
  const Workload plain = parse_workload("dense(m=4,n=8,k=16)"),
                 with = parse_workload("dense(m=4,n=8,k=16,prologue=bias+relu)");
  EXPECT_EQ(to_string(plain).find("prologue"), std::string::npos);
  EXPECT_THAT(to_string(with), testing::EndsWith(",epilogue=none,prologue=bias+relu)"));
  EXPECT_EQ(parse_workload(to_string(with)), with);
  EXPECT_EQ(to_string(parse_workload("dense(m=4,n=8,k=16,prologue=add[c]+relu)")), to_string(with));
  EXPECT_THAT(refusal_of_in_prologue("dense(m=4,n=8,k=16,prologue=mul[4x4])"), HasSubstr("prologue"));
  EXPECT_THAT(refusal_of_in_prologue("dense(m=4,n=8,k=16,prologue=mul[r])"), HasSubstr("prologue"));
  EXPECT_THAT(refusal_of_in_prologue("dense(m=4,n=8,k=16,prologue=nothing)"), HasSubstr("prologue"));
  EXPECT_THAT(refusal_of_in_prologue("reduce(shape=4x6,axes=1,prologue=relu)"),
              HasSubstr("unknown attribute 'prologue'"));
}

TEST(Prologue, HasOperandsOfTheInputsShape) {
  const Definition d = define(parse_workload("conv2d(ci=4,h=5,w=6,co=8,epilogue=bias,prologue=mul[c]+add+mul[1])"));
  std::vector<std::string> inputs;
  for (const auto& [t, role] : d.inputs)
    inputs.push_back(t->name + " " + text_of_extents(t->shape) + " " + std::string(name_of(role)));
  EXPECT_THAT(inputs, testing::ElementsAre("data 1x4x5x6 input", "weight 8x4x3x3 constant", "in_mul1 4 constant",
                                           "in_residual 1x4x5x6 input", "in_mul3 1 input", "bias 8 constant"));
  ASSERT_NE(prologue_stage(d), nullptr);
  EXPECT_EQ(prologue_stage(d)->name, "data_in");
  EXPECT_EQ(prologue_stage(define(parse_workload("conv2d(ci=4,h=5,w=6,co=8)"))), nullptr);
}

// A task's copy of its rows is made through the prologue, once; where none is made the reader applies it.
TEST(Prologue, IsComputedWhereATemplateCopiesTheInput) {
  const Workload w = parse_workload("dense(m=32,n=64,k=16,prologue=exp)");
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  const auto steps = [&](const std::string& how) {
    const Config c = *space.adapt(how);
    return std::pair(steps_text(w, target, space, c), space.print(c));
  };
  const auto [inlined, first] = steps("pack_a=0");
  EXPECT_THAT(inlined, HasSubstr("compute_inline(a_in)"));
  const auto [copied, second] = steps("n_block=16,tile_m=4,tasks_m=1,tasks_n=1,pack_a=1");
  EXPECT_THAT(second, HasSubstr("pack_a=1"));
  EXPECT_THAT(copied, HasSubstr("compute_at(a_in, "));
  EXPECT_EQ(copied.find("compute_inline(a_in)"), std::string::npos);
  EXPECT_EQ(copied.find("cache_read"), std::string::npos);
}

// A padded maximum hides a NaN behind its border where the padded reference does, and nowhere else.
TEST(Prologue, ThatMakesNaNsIsPooledAsTheReferenceDoes) {
  expect_configs_match_reference(parse_workload("max_pool2d(c=19,h=9,w=11,prologue=sqrt)"), 12, 3);
  expect_configs_match_reference(parse_workload("max_pool2d(c=19,h=9,w=11,pad=0,prologue=log)"), 6, 3);
}

class ProloguesOfTemplates : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ProloguesOfTemplates, ComputeWhatTheReferenceComputes) {
  const auto& [anchor, chain] = GetParam();
  expect_configs_match_reference(parse_workload(std::string(anchor) + ",prologue=" + chain + ")"), 8, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Anchors, ProloguesOfTemplates,
    testing::Combine(testing::Values("dense(m=13,n=37,k=40,epilogue=bias+relu", "dense(m=1,n=70,k=128",
                                     "batch_matmul(b=3,m=17,n=21,k=12", "conv2d(ci=16,h=12,w=12,co=16",
                                     "conv2d(ci=5,h=8,w=9,co=7,stride=2,layout=NCHW",
                                     "conv2d(ci=8,h=6,w=6,co=16,kh=1,kw=1,pad=0,layout=NHWC",
                                     "depthwise_conv2d(c=19,h=11,w=9,stride=2", "max_pool2d(c=19,h=15,w=9",
                                     "avg_pool2d(c=24,h=9,w=9,kh=3,kw=3,pad=1,layout=NHWC"),
                     testing::Values("mul[c]+add[c]+relu", "add+silu", "x=s+sigmoid+mul[s]", "mul[20]+round")));
INSTANTIATE_TEST_SUITE_P(Types, ProloguesOfTemplates,
                         testing::Combine(testing::Values("dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32",
                                                          "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32",
                                                          "depthwise_conv2d(c=20,h=9,w=9,dtype=s8:s8:s32:s32"),
                                          testing::Values("cast:f32+mul[0.5]+round+saturate:u8", "relu", "min[100]")));

}  // namespace
}  // namespace hone
