// Scales, shifts and numbers around convolutions and products, and functions as exporters spell them.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

const std::string kConv = "n=1,ci=2,h=2,w=2,co=2,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW,dtype=f32";

TEST(SimplifyChains, SpelledFunctionsGetTheirNames) {
  const auto simplified = [](const std::string& op) {
    const std::string text = after(&simplify_chains, "input \"x\" %x f32[4]\n%y = elementwise(op=" + op +
                                                         ",shape=4,operands=none) %x\noutput \"y\" %y f32[4]\n");
    const size_t begin = text.find("op=") + 3;
    return text.substr(begin, text.find(",shape") - begin);
  };
  EXPECT_EQ(simplified("x=s+sigmoid+mul[s]"), "silu");
  EXPECT_EQ(simplified("x=s+mul[1.0]+sigmoid+mul[s]"), "silu");
  EXPECT_EQ(simplified("x=s+add[3]+maximum[0]+minimum[6]+mul[s]+div[6]"), "hard_swish");
  EXPECT_EQ(simplified("x=s+hard_sigmoid+mul[s]"), "hard_swish");
  EXPECT_EQ(simplified("x=s+softplus+tanh+mul[s]"), "mish");
  EXPECT_EQ(simplified("x=s+div[1.4142135]+erf+add[1.0]+mul[s]+mul[0.5]"), "gelu");
  EXPECT_EQ(simplified("x=s+mul[0.044715]+mul[s]+mul[s]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[0.5]+mul[s]"),
            "gelu_tanh");
  // Among other links.
  EXPECT_EQ(simplified("mul[2]+x=s+sigmoid+mul[s]+add[3]+x=t+sigmoid+mul[t]"), "mul[2]+silu+add[3]+silu");
  EXPECT_EQ(simplified("exp+x=s+relu+x=t+sigmoid+mul[t]+add[s]"), "exp+x=s+relu+silu+add[s]");
  // The value is used later on, or by something else.
  EXPECT_EQ(simplified("x=s+sigmoid+mul[s]+add[s]"), "x=s+sigmoid+mul[s]+add[s]");
  EXPECT_EQ(simplified("x=s+exp+x=t+sigmoid+mul[s]+mul[t]"), "x=s+exp+x=t+sigmoid+mul[s]+mul[t]");
  // Behind and in front of other types.
  EXPECT_EQ(
      simplified("cast:s32+add[1.0]:f32+x=s+div[1.4142135]+erf+add[1.0]+mul[s]+mul[0.5]+round+saturate:u8+cast:f32"),
      "cast:s32+add[1.0]:f32+gelu+round+saturate:u8+cast:f32");
  // Other numbers.
  EXPECT_EQ(simplified("x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.17]"),
            "x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.17]");
}

TEST(SimplifyChains, DivisionsByNumbersAreProducts) {
  const auto simplified = [](const std::string& type, const std::string& op) {
    const std::string text =
        after(&simplify_chains, "input \"x\" %x " + type + "[4]\n%y = elementwise(op=" + op +
                                    ",shape=4,operands=none,dtype=" + type + ") %x\noutput \"y\" %y " + type + "[4]\n");
    const size_t begin = text.find("op=") + 3;
    return text.substr(begin, text.find(",shape") - begin);
  };
  EXPECT_EQ(simplified("f32", "div[8]+relu"), "mul[0.125]+relu");
  EXPECT_EQ(simplified("f32", "div[3]"), "mul[0.33333334]");
  EXPECT_EQ(simplified("f64", "div[3]"), "mul[0.3333333333333333]");
  EXPECT_EQ(simplified("f32", "div[1.0]+exp+mul[1.0]"), "exp");
  // Numbers without an inverse in floats, a result rounded to 16 bits once, and whole numbers.
  for (const auto& [type, op] : std::vector<std::pair<std::string, std::string>>{
           {"f32", "div[0]"}, {"f32", "div[1e+38]"}, {"f32", "div[1e-39]"}, {"f16", "div[3]"}, {"s32", "div[3]"}})
    EXPECT_EQ(simplified(type, op), op) << type;
}

// 21 / 7 is 3, and 21 * 0.14285715 is more.
TEST(SimplifyChains, DivisionsInFrontOfStepsStay) {
  const auto simplified = [](const std::string& op, const std::string& behind) {
    return after(&simplify_chains,
                 "input \"x\" %x f32[4]\n%y = elementwise(op=" + op + ",shape=4,operands=none) %x\n" + behind);
  };
  const std::string output = "output \"y\" %y f32[4]\n";
  for (const char* op : {"div[7]+ceil", "div[7]+add[2]+floor", "div[7]+round+mul[2]", "div[7]+saturate:u8+cast:f32"})
    EXPECT_THAT(simplified(op, output), testing::HasSubstr("div[7]")) << op;
  for (const char* op : {"div[7]+log+floor", "div[7]+silu+ceil", "div[7]+square+floor", "div[7]+sub[1.0]+tanh+ceil",
                         "div[7]+x=s+tanh+maximum[s]+floor", "div[7]+add[3]+exp+minimum[20]+floor"})
    EXPECT_THAT(simplified(op, output), testing::HasSubstr("div[7]")) << op;
  for (const char* op : {"div[7]+tanh+mul[5]+ceil", "x=s+div[7]+erf+mul[s]+round", "div[7]+neg+mul[3]+sigmoid+round"})
    EXPECT_THAT(simplified(op, output), testing::HasSubstr("mul[0.14285715]")) << op;
  EXPECT_THAT(simplified("div[8]+ceil", output), testing::HasSubstr("mul[0.125]")) << "exact";
  const std::string moved = "%r = reshape(shape=4,to=2x2) %y\n%t = transpose(shape=2x2) %r\n";
  EXPECT_THAT(simplified("div[7]", moved + "%z = elementwise(op=floor,shape=2x2) %t\noutput \"z\" %z f32[2, 2]\n"),
              testing::HasSubstr("div[7]"));
  EXPECT_THAT(simplified("div[7]", moved + "%z = elementwise(op=tanh,shape=2x2) %t\noutput \"z\" %z f32[2, 2]\n"),
              testing::HasSubstr("mul[0.14285715]"));
}

TEST(SimplifyChains, SpelledNumbersAreThoseOfF32) {
  expect_unchanged(&simplify_chains, R"(
input "x" %x f64[4]
%y = elementwise(op=x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.16666667],shape=4,operands=none,dtype=f64) %x
output "y" %y f64[4]
)");
}

TEST(FoldScales, InFrontOfStepsStay) {
  expect_unchanged(&fold_scales, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=div[7]+ceil) %x %w
output "y" %y f32[3, 2]
)");
}

TEST(FoldScales, NoDigitsAreLost) {
  expect_unchanged(&fold_scales, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=mul[1e-40]) %x %w
output "y" %y f32[3, 2]
)");
}

TEST(LiftNumbers, OfAnotherTypeOnTheWayStay) {
  expect_unchanged(&lift_numbers, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=cast:f16+mul[0.1234]+mul[0.12345]+cast:f32) %x %w
output "y" %y f32[3, 2]
)");
}

TEST(FoldScales, NormalizationGoesIntoTheWeights) {
  EXPECT_EQ(after(&fold_scales, R"(
input "x" %x f32[1, 2, 2, 2]
%w = constant f32[2, 2, 1, 1] [1, 2, 3, 4]
%a = constant f32[2] [10, 0.5]
%b = constant f32[2] [7, 8]
%y = conv2d()" + kConv + R"(,epilogue=mul[c]+bias+relu) %x %w %a %b
output "y" %y f32[1, 2, 2, 2]
)"),
            R"(%w_folded = constant f32[2, 2, 1, 1] [10, 20, 1.5, 2]
%w_folded_1 = constant f32[2] [7, 8]
%y = conv2d()" + kConv +
                R"(,epilogue=bias+relu) %x %w_folded %w_folded_1
output "y" %y f32[1, 2, 2, 2]
)");
}

TEST(FoldScales, NumbersInFrontOfTheFunctionToo) {
  EXPECT_EQ(after(&fold_scales, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%b = constant f32[2] [1, 2]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=bias+mul[2]+sub[3]+gelu+mul[5]) %x %w %b
output "y" %y f32[3, 2]
)"),
            R"(%w_folded = constant f32[2, 2] [2, 4, 6, 8]
%w_folded_1 = constant f32[2] [-1, 1]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=bias+gelu+mul[5]) %x %w_folded %w_folded_1
output "y" %y f32[3, 2]
)");
}

TEST(FoldScales, BehindAFunctionTheReadersTakeThem) {
  // relu(conv) * 2 + 3, read without borders: all of it goes on.
  EXPECT_EQ(after(&fold_scales, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%h = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu+mul[2]+add[3]) %x %w
%v = constant f32[2, 2] [1, 0, 2, 5]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu) %h %v
output "y" %y f32[3, 2]
)"),
            R"(%w = constant f32[2, 2] [1, 2, 3, 4]
%h = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu) %x %w
%v_folded = constant f32[2, 2] [2, 0, 4, 10]
%v_folded_1 = constant f32[2] [3, 21]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=bias+relu) %h %v_folded %v_folded_1
output "y" %y f32[3, 2]
)");
}

TEST(FoldScales, InFrontOfBordersAShiftStays) {
  const std::string window = "n=1,c=2,h=2,w=2,kh=1,kw=1,stride=1,pad=1,dilation=1,layout=NCHW,dtype=f32";
  EXPECT_EQ(after(&fold_scales, R"(
input "x" %x f32[1, 2, 2, 2]
%w = constant f32[2, 2, 1, 1] [1, 2, 3, 4]
%h = conv2d()" + kConv + R"(,epilogue=relu+mul[2]+add[3]) %x %w
%v = constant f32[2, 1, 1, 1] [5, 6]
%y = depthwise_conv2d()" + window + R"(,epilogue=none) %h %v
output "y" %y f32[1, 2, 4, 4]
)"),
            R"(%w = constant f32[2, 2, 1, 1] [1, 2, 3, 4]
%w_folded = constant f32[1] [1.5]
%h = conv2d()" + kConv +
                R"(,epilogue=relu+add[1]) %x %w %w_folded
%v_folded = constant f32[2, 1, 1, 1] [10, 12]
%y = depthwise_conv2d()" +
                window + R"(,epilogue=none) %h %v_folded
output "y" %y f32[1, 2, 4, 4]
)");
}

TEST(FoldScales, WhatOthersReadStays) {
  const std::string first = R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%h = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu+mul[2]) %x %w
%v = constant f32[2, 2] [1, 0, 2, 5]
)";
  // An output, another operator, the weights of a product of two values, an operand.
  expect_unchanged(&fold_scales, first + R"(%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=none) %h %v
output "h" %h f32[3, 2]
output "y" %y f32[3, 2]
)");
  expect_unchanged(&fold_scales, first + R"(%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=none) %h %v
%z = elementwise(op=exp,shape=3x2,operands=none) %h
output "y" %y f32[3, 2]
output "z" %z f32[3, 2]
)");
  expect_unchanged(&fold_scales, first + R"(%y = dense(m=3,n=3,k=2,dtype=f32,epilogue=none) %x %h
output "y" %y f32[3, 3]
)");
  expect_unchanged(&fold_scales, first + R"(%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=add) %h %v %h
output "y" %y f32[3, 2]
)");
}

TEST(FoldScales, NothingIsFoldedThatOverflowsOrIsNotKnown) {
  expect_unchanged(&fold_scales, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 1e+30, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=mul[1e+20]+relu) %x %w
output "y" %y f32[3, 2]
)");
  expect_unchanged(&fold_scales, R"(
input "x" %x f32[3, 2]
input "w" %w f32[2, 2]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=mul[2]) %x %w
output "y" %y f32[3, 2]
)");
  expect_unchanged(&fold_scales, R"(
input "x" %x f16[3, 2]
%w = constant f16[2, 2] [1, 2, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f16,epilogue=mul[2]) %x %w
output "y" %y f16[3, 2]
)");
}

TEST(LiftNumbers, LearnedOnesBecomeOperands) {
  EXPECT_EQ(after(&lift_numbers, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu+mul[0.65898335]+add[0.125]) %x %w
output "y" %y f32[3, 2]
)"),
            R"(%w = constant f32[2, 2] [1, 2, 3, 4]
%w_number = constant f32[1] [0.65898335]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu+mul[1]+add[0.125]) %x %w %w_number
output "y" %y f32[3, 2]
)");
}

}  // namespace
}  // namespace hone
