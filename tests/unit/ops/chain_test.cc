// Chains of functions: their texts, types and operands, and every template's results for them.
#include "compiler/ops/functions/chain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/ops/epilogue.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kDense = "dense(m=4,n=6,k=8,";

std::string canonical(const std::string& epilogue, const std::string& dtype = "f32") {
  return parse_workload(kDense + "dtype=" + dtype + ",epilogue=" + epilogue + ")").attributes.text("epilogue");
}

std::string refusal(const std::string& epilogue, const std::string& dtype = "f32") {
  try {
    canonical(epilogue, dtype);
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "accepted";
}

TEST(Chain, OfOneMeaningHasOneText) {
  for (const char* text : {"none", "bias", "add", "relu", "bias+add+relu", "add+add", "silu", "clip[0;6]", "mul[r]",
                           "mul[1]", "mul[1.0]", "bias+x=s+sigmoid+mul[s]", "x=s+tanh+x=t+mul[s]+add[t]", "mul[1x6]",
                           "mul", "mul[0.1]", "clip[-1e+20;1e-07]", "cast:f16+relu", "relu:f16+mul"})
    EXPECT_EQ(canonical(text), text);
  EXPECT_EQ(canonical("add[c]"), "bias");
  EXPECT_EQ(canonical("add[same]"), "add");
  EXPECT_EQ(canonical("mul[4x6]"), "mul");
  EXPECT_EQ(canonical("mul[1x1]"), "mul[1]");
  EXPECT_EQ(canonical("clip[0.0;6.00]"), "clip[0;6]");
  EXPECT_EQ(canonical("mul[1e0]"), "mul[1.0]");
  EXPECT_EQ(canonical("bias+x=before+sigmoid+mul[before]"), "bias+x=s+sigmoid+mul[s]");
  EXPECT_EQ(canonical("relu:f32+cast:f32+add"), "relu+add");
  // There the type decides the types of operands and result.
  EXPECT_EQ(canonical("relu:f32+add", "f16"), "relu:f32+add");
  EXPECT_EQ(canonical("cast:f32+mul[c]+round+saturate:u8", "u8:s8:s32:s32"), "cast:f32+mul[c]+round+saturate:u8");
  EXPECT_EQ(canonical("bias+cast:f32+mul[c]", "u8:s8:s32:s32"), "bias:f32+mul[c]");
  EXPECT_EQ(canonical("bias+x=s+cast:f32+mul[s]", "u8:s8:s32:s32"), "bias+x=s+cast:f32+mul[s]");
  EXPECT_EQ(canonical("relu+cast:s8"), "relu:s8");
  EXPECT_EQ(canonical("relu:f16+cast:s8"), "relu:f16+cast:s8") << "rounded twice";
  EXPECT_EQ(canonical("cast:f16", "f16"), "none");
  EXPECT_EQ(canonical("bias+relu:f16", "f16"), "bias+relu");
  EXPECT_EQ(canonical("relu:f16+add", "f16"), "relu:f16+add");
  EXPECT_EQ(canonical("saturate:f32+relu"), "relu");
  EXPECT_EQ(canonical("saturate:f16+relu"), "cast:f16+relu");
  EXPECT_EQ(canonical("saturate:s64", "u8:s8:s32:s32"), "cast:s64");
  EXPECT_EQ(canonical("x=s+x=t+sigmoid+mul[s]+add[t]"), "x=s+sigmoid+mul[s]+add[s]");
  EXPECT_EQ(canonical("x=s+cast:f32+x=t+sigmoid+mul[s]+add[t]"), "x=s+sigmoid+mul[s]+add[s]");
  EXPECT_EQ(canonical("add[-0]", "u8:s8:s32:s32"), "add[0]");
  EXPECT_EQ(parse_workload("dense(m=1,n=6,k=8,epilogue=mul[r])").attributes.text("epilogue"), "mul[1]");
  EXPECT_EQ(parse_workload("reduce(shape=4x6,axes=all,epilogue=add[1])").attributes.text("epilogue"), "add");
}

TEST(Chain, ComparisonsGiveBoolsThatAreNotWritten) {
  for (const char* text :
       {"less", "less:f32", "x=s+less[0]+not:f32+mul[s]", "less+and[c]", "where", "where[c;r]", "where[1;1.0]",
        "x=s+tanh+where[s;0]", "x=s+less+x=t+cast:f32+where[t;s]", "hard_sigmoid", "selu[1;2]", "celu[2]"})
    EXPECT_EQ(canonical(text), text);
  EXPECT_EQ(canonical("less:bool"), "less");
  EXPECT_EQ(canonical("less+cast:bool"), "less");
  EXPECT_EQ(canonical("less+cast:f32"), "less:f32");
  EXPECT_EQ(canonical("equal:f32+mul:f32"), "equal:f32+mul");
  EXPECT_EQ(canonical("add[same]+where[same;same]"), "add+where");
  EXPECT_EQ(canonical("hard_sigmoid[0.16666666666666666;0.5]"), "hard_sigmoid");
  EXPECT_EQ(canonical("celu[1]+thresholded_relu[1.0]"), "celu+thresholded_relu");
  const auto output = [](const std::string& epilogue) {
    return define(parse_workload(kDense + "dtype=f16,epilogue=" + epilogue + ")")).output()->buffer->dtype;
  };
  EXPECT_EQ(output("less"), boolean);
  EXPECT_EQ(output("less:f32"), f32);
  EXPECT_EQ(output("where"), f16);
  const Definition d = define(parse_workload(kDense + "dtype=f16,epilogue=where+less+and)"));
  std::vector<DType> types;
  for (size_t i = 2; i < d.inputs.size(); ++i) types.push_back(d.inputs[i].first->buffer->dtype);
  EXPECT_THAT(types, ElementsAre(boolean, f16, f16, boolean));
}

TEST(Chain, BadOnesAreRefusedInOneLine) {
  EXPECT_THAT(refusal("and"), HasSubstr("'and' takes bools, and the value is f32 there"));
  EXPECT_THAT(refusal("less+relu"), HasSubstr("'relu' takes floats, integers, and the value is bool there"));
  EXPECT_THAT(refusal("mod[2]"), HasSubstr("'mod' takes integers, and the value is f32 there"));
  EXPECT_THAT(refusal("where[1.0;0]"), HasSubstr("'1.0' is no tensor of bools"));
  EXPECT_THAT(refusal("where[c]"), HasSubstr("'where' takes 2 arguments"));
  EXPECT_THAT(refusal("leaky"), HasSubstr("'leaky' takes 1 argument in brackets"));
  EXPECT_THAT(refusal("selu[1]"), HasSubstr("'selu' takes 2 arguments"));
  EXPECT_THAT(refusal("less+equal[2]"), HasSubstr("2 is no bool"));
  EXPECT_THAT(refusal("secant"), HasSubstr("epilogue=secant: 'secant' is unknown; allowed: none, or bias relu"));
  EXPECT_THAT(refusal("relu+"), HasSubstr("'' is unknown"));
  EXPECT_THAT(refusal("relu[1]"), HasSubstr("'relu' takes 0 arguments, not 1"));
  EXPECT_THAT(refusal("clip"), HasSubstr("'clip' takes 2 arguments in brackets"));
  EXPECT_THAT(refusal("clip[1]"), HasSubstr("'clip' takes 2 arguments in brackets"));
  EXPECT_THAT(refusal("clip[c;1]"), HasSubstr("'c' is not a number"));
  EXPECT_THAT(refusal("clip[0;inf]"), HasSubstr("'inf' is not a number"));
  EXPECT_THAT(refusal("mul[inf]"),
              HasSubstr("'inf' is none of c, r, 1, same, extents (1x64x1x1), a number and a name"));
  EXPECT_THAT(refusal("mul[]"), HasSubstr("'' is none of"));
  EXPECT_THAT(refusal("mul[c"), HasSubstr("its brackets do not match"));
  EXPECT_THAT(refusal("mul[c]x"), HasSubstr("is not of the form"));
  EXPECT_THAT(refusal("mul]c["), HasSubstr("its brackets do not match"));
  EXPECT_THAT(refusal("mul[2x6]"), HasSubstr("2x6 does not fit 4x6; each extent is that or 1"));
  EXPECT_THAT(refusal("mul[s]"), HasSubstr("'s' is none of"));
  EXPECT_THAT(refusal("x=s+relu"), HasSubstr("names 's' and does not use it"));
  EXPECT_THAT(refusal("x=s+x=s+mul[s]"), HasSubstr("two values are named 's'"));
  EXPECT_THAT(refusal("x=c+mul[c]"), HasSubstr("'c' is not a name"));
  EXPECT_THAT(refusal("x=A+mul[A]"), HasSubstr("'A' is not a name"));
  EXPECT_THAT(refusal("relu:f8"), HasSubstr("dtype 'f8' is unknown"));
  EXPECT_THAT(refusal("saturate"), HasSubstr("'saturate' needs a type"));
  EXPECT_THAT(refusal("bias[c]"), HasSubstr("'bias' has its argument"));
  EXPECT_THAT(refusal("gelu", "u8:s8:s32:s32"), HasSubstr("'gelu' takes floats, and the value is s32 there"));
  EXPECT_THAT(refusal("add[0.5]", "u8:s8:s32:s32"), HasSubstr("0.5 is no s32"));
  EXPECT_THAT(refusal("max[2147483648]", "u8:s8:s32:s32"), HasSubstr("2147483648 is no s32"));
  EXPECT_THAT(refusal("saturate:u8+clip[0;300]"), HasSubstr("300 is no u8"));
  EXPECT_THAT(refusal("saturate:u8+max[-1]"), HasSubstr("-1 is no u8"));
  EXPECT_THAT(refusal("clip[0;1e39]"), HasSubstr("1e+39 is no f32"));
  EXPECT_THAT(refusal("relu:f16+clip[0;70000]", "f16:f16:f32:f32"), HasSubstr("70000 is no f16"));
  EXPECT_THAT(refusal("silu+silu+silu+silu+silu+silu+silu"), HasSubstr("uses its first value 128 times; at most 64"));
  std::string many = "relu";
  for (int i = 0; i < 16; ++i) many += "+relu";
  EXPECT_THAT(refusal(many), HasSubstr("has 17 functions; at most 16"));
  EXPECT_THROW(parse_workload("elementwise(op=mul[c],shape=4x6)"), UserError);
  EXPECT_THROW(parse_workload("elementwise(op=relu:f32,shape=4x6)"), UserError);
  EXPECT_THROW(parse_workload("elementwise(op=relu+cast:s8,shape=4x6)"), UserError);
  EXPECT_THROW(parse_workload("elementwise(op=cast:f32,shape=4x6)"), UserError);
  EXPECT_THROW(parse_workload("reduce(shape=4x6,axes=1,epilogue=bias)"), UserError) << "a reduction has no channels";
}

TEST(Chain, OperandsHaveNamesShapesRolesAndTypes) {
  const auto inputs = [](const std::string& text) {
    std::vector<std::string> out;
    const Definition d = define(parse_workload(text));
    for (size_t i = 2; i < d.inputs.size(); ++i) {
      const auto& [t, role] = d.inputs[i];
      out.push_back(
          fmt::format("{} {} {} {}", t->name, to_string(t->buffer->dtype), text_of_extents(t->shape), name_of(role)));
    }
    return out;
  };
  EXPECT_THAT(inputs("conv2d(ci=4,h=5,w=6,co=8,epilogue=bias+mul[1x8x1x1]+add+mul[1]+max+add)"),
              ElementsAre("bias f32 8 constant", "mul2 f32 1x8x1x1 input", "residual f32 1x8x5x6 input",
                          "mul4 f32 1 input", "max5 f32 1x8x5x6 input", "residual6 f32 1x8x5x6 input"));
  EXPECT_THAT(inputs("batch_matmul(b=2,m=3,n=4,k=5,dtype=f16,epilogue=mul[r]+bias+cast:f32+mul[c])"),
              ElementsAre("mul1 f16 2x3 input", "bias f16 4 constant", "mul3 f32 4 constant"));
  const Definition d =
      define(parse_workload(kDense + "dtype=u8:s8:s32:s32,epilogue=bias+cast:f32+mul[c]+round+saturate:u8)"));
  EXPECT_EQ(d.output()->buffer->dtype, u8);
  EXPECT_EQ(d.inputs[2].first->buffer->dtype, i32);
  EXPECT_EQ(d.inputs[3].first->buffer->dtype, f32);
}

TEST(Chain, AddedAttributesArePrintedOnlyWhereTheySaySomething) {
  const Workload plain = parse_workload("max_pool2d(c=8)"), with = parse_workload("max_pool2d(c=8,epilogue=relu)");
  EXPECT_EQ(to_string(plain).find("epilogue"), std::string::npos);
  EXPECT_THAT(to_string(with), testing::EndsWith(",dtype=f32,epilogue=relu)"));
  EXPECT_EQ(to_string(parse_workload(to_string(with))), to_string(with));
  EXPECT_EQ(parse_workload("max_pool2d(c=8,epilogue=none)"), plain);
}

// A function of the caller's own, in a table of the caller's own.
TEST(Chain, HasTheFunctionsOfTheTableGiven) {
  FunctionTable functions = standard_functions();
  functions.add(
      {"halve", {}, 1, false, [](std::span<const Expr> a, DType) { return a[0] * make_const(0.5, a[0]->dtype); }});
  const Workload w = Workload::parse(standard_operators(functions), kDense + "epilogue=halve+bias)");
  expect_configs_match_reference(w, 2, 1);
  EXPECT_THROW(parse_workload(kDense + "epilogue=halve)"), UserError);
}

// Every anchor with chains of every kind: composites, operands of every shape, a value used twice, types on the way.
class ChainsOfTemplates : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ChainsOfTemplates, ComputeWhatTheReferenceComputes) {
  const auto& [anchor, chain] = GetParam();
  expect_configs_match_reference(parse_workload(std::string(anchor) + ",epilogue=" + chain + ")"), 6, 7);
}

INSTANTIATE_TEST_SUITE_P(
    Products, ChainsOfTemplates,
    testing::Combine(testing::Values("dense(m=13,n=37,k=40", "dense(m=1,n=70,k=33", "batch_matmul(b=3,m=17,n=21,k=12"),
                     testing::Values("bias+silu", "mul[r]+gelu", "mul[c]+add[c]+relu6", "add+relu+add+tanh+mul",
                                     "mul[20]+round+saturate:s8", "bias+less[r]", "where[c;0]+leaky[0.1]",
                                     "x=s+greater[0]:f32+mul[s]", "bias+maximum[0]+floor")));
INSTANTIATE_TEST_SUITE_P(
    Windows, ChainsOfTemplates,
    testing::Combine(testing::Values("conv2d(ci=16,h=12,w=12,co=16", "conv2d(ci=5,h=8,w=9,co=7,stride=2,layout=NCHW",
                                     "conv2d(ci=8,h=6,w=6,co=16,kh=1,kw=1,pad=0,layout=NHWC",
                                     "depthwise_conv2d(c=19,h=11,w=9,stride=2", "max_pool2d(c=19,h=15,w=9",
                                     "avg_pool2d(c=24,h=9,w=9,kh=3,kw=3,pad=1,layout=NHWC"),
                     testing::Values("bias+silu", "bias+x=s+hard_sigmoid+mul[s]+add", "mul[c]+add[c]+relu6",
                                     "cast:f16+relu+mul", "mul[20]+round+saturate:s8", "where+less[c]+not",
                                     "prelu[c]+ceil")));
INSTANTIATE_TEST_SUITE_P(Reductions, ChainsOfTemplates,
                         testing::Combine(testing::Values("reduce(shape=6x40x7,axes=1",
                                                          "reduce(op=mean,shape=33x20,axes=0",
                                                          "reduce(op=max,shape=50x65,axes=-1"),
                                          testing::Values("sigmoid+mul", "clip[-0.5;0.5]", "add[1]+mul[0.125]+round",
                                                          "add+relu+add+tanh+mul", "cast:f16+relu+mul")));
INSTANTIATE_TEST_SUITE_P(Types, ChainsOfTemplates,
                         testing::Combine(testing::Values("dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32",
                                                          "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32",
                                                          "depthwise_conv2d(c=20,h=9,w=9,dtype=s8:s8:s32:s32"),
                                          testing::Values("bias+cast:f32+mul[c]+round+saturate:u8",
                                                          "cast:f32+mul[0.01]+silu+mul[20]+round+saturate:s8",
                                                          "bias+relu", "max[-100]+saturate:s8", "div[7]+mod[-5]",
                                                          "bias+mod+equal[0]", "cast:f32+mul[c]+add")));

}  // namespace
}  // namespace hone
