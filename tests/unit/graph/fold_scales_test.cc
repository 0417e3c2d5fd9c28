// Scales and shifts around convolutions and products go into their weights.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

const std::string kConv = "n=1,ci=2,h=2,w=2,co=2,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW,dtype=f32";

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

}  // namespace
}  // namespace hone
