// Which images lie in blocks of channels.
#include "compiler/graph/passes/passes.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The nodes that choose_layouts makes for a machine with vectors of 16.
std::string in_blocks(const std::string& lines) {
  const Graph g = choose_layouts(read_graph("graph g\n" + lines), {test_operators(), test_functions(), 16});
  verify(g);
  std::istringstream text(to_string(g));
  std::string out;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("%") && line.find("= constant") == std::string::npos) out += line + "\n";
  return out;
}

TEST(ChooseLayouts, BlocksBetweenConvolutionsAndRowsAround) {
  EXPECT_EQ(
      in_blocks(R"(
input "x" %x f32[1, 3, 4, 4]
%w = constant f32[32, 3, 1, 1] fill 1
%v = constant f32[24, 32, 1, 1] fill 2
%a = conv2d(ci=3,h=4,w=4,co=32,kh=1,kw=1,pad=0,layout=NCHW,epilogue=relu) %x %w
%b = conv2d(ci=32,h=4,w=4,co=24,kh=1,kw=1,pad=0,layout=NCHW) %a %v
%y = softmax(shape=1x24x4x4,axis=1) %b
output "y" %y f32[1, 24, 4, 4]
)"),
      R"(%a = conv2d(n=1,ci=3,h=4,w=4,co=32,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW1c:16c,dtype=f32,epilogue=relu) %x %w
%b = conv2d(n=1,ci=32,h=4,w=4,co=24,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW16c:8c,dtype=f32,epilogue=none) %a %v
%transpose = transpose(shape=1x3x4x4x8,perm=0:1:4:2:3,dtype=f32) %b
%reshape = reshape(shape=1x3x8x4x4,to=1x24x4x4,dtype=f32) %transpose
%y = softmax(shape=1x24x4x4,axis=1,dtype=f32,epilogue=none) %reshape
)");
}

TEST(ChooseLayouts, WeightsOfTheOutputsShapeAreWeights) {
  const std::string out = in_blocks(R"(
input "x" %x f32[8, 8, 3, 3]
%w = constant f32[8, 8, 3, 3] fill 1
%r = constant f32[8, 8, 3, 3] fill 2
%a = conv2d(n=8,ci=8,h=3,w=3,co=8,kh=3,kw=3,pad=1,layout=NCHW,epilogue=add) %x %w %r
output "a" %a f32[8, 8, 3, 3]
)");
  // The operand of the epilogue is in blocks, the weights are as they were.
  EXPECT_THAT(out, testing::ContainsRegex("layout=NCHW8c,dtype=f32,epilogue=add\\) %transpose %w %transpose_1"));
}

TEST(ChooseLayouts, BordersOfRowsAndColumnsStayInBlocks) {
  const auto padded = [](const std::string& pads) {
    return in_blocks(R"(
input "x" %x f32[1, 3, 4, 4]
%w = constant f32[32, 3, 1, 1] fill 1
%v = constant f32[32, 32, 3, 3] fill 2
%a = conv2d(ci=3,h=4,w=4,co=32,kh=1,kw=1,pad=0,layout=NCHW) %x %w
%p = pad(shape=1x32x4x4,)" +
                     pads + R"() %a
%b = conv2d(ci=32,h=6,w=7,co=32,kh=3,kw=3,pad=0,layout=NCHW) %p %v
output "b" %b f32[1, 32, 4, 5]
)");
  };
  EXPECT_THAT(
      padded("before=0:0:1:2,after=0:0:1:1,mode=reflect"),
      HasSubstr("%p = pad(shape=1x2x4x4x16,before=0:0:1:2:0,after=0:0:1:1:0,mode=reflect,value=0,dtype=f32) %a"));
  EXPECT_THAT(
      padded("before=0:0:2:2,after=0:0:0:1,mode=constant,value=7"),
      HasSubstr("%p = pad(shape=1x2x4x4x16,before=0:0:2:2:0,after=0:0:0:1:0,mode=constant,value=7,dtype=f32) %a"));
}

TEST(ChooseLayouts, SlicesOfWholeBlocksStayInBlocks) {
  const auto cut = [](const std::string& begin, const std::string& size, int channels) {
    const std::string c = std::to_string(channels);
    return in_blocks(R"(
input "x" %x f32[1, 3, 4, 4]
%w = constant f32[32, 3, 1, 1] fill 1
%v = constant f32[16, )" +
                     c + R"(, 1, 1] fill 2
%a = conv2d(ci=3,h=4,w=4,co=32,kh=1,kw=1,pad=0,layout=NCHW) %x %w
%s = slice(shape=1x32x4x4,begin=)" +
                     begin + ",step=1:1:1:1,size=1x" + size + R"() %a
%b = conv2d(ci=)" + c +
                     ",h=4,w=4,co=16,kh=1,kw=1,pad=0,layout=NCHW) %s %v\n" + "output \"b\" %b f32[1, 16, 4, 4]\n");
  };
  EXPECT_THAT(cut("0:16:0:0", "16x4x4", 16),
              HasSubstr("%s = slice(shape=1x2x4x4x16,begin=0:1:0:0:0,step=1:1:1:1:1,size=1x1x4x4x16,dtype=f32) %a"));
  EXPECT_THAT(cut("0:8:0:0", "16x4x4", 16), HasSubstr("%s = slice(shape=1x32x4x4,begin=0:8:0:0,"));
  EXPECT_THAT(cut("0:0:0:0", "24x4x4", 24), HasSubstr("%s = slice(shape=1x32x4x4,"));
}

TEST(ChooseLayouts, ChannelsAreFilledUpWhereTheImageGoesOnInBlocks) {
  EXPECT_EQ(
      in_blocks(R"(
input "x" %x f32[1, 30, 4, 4]
%w = constant f32[30, 30, 1, 1] fill 1
%b = constant f32[30] fill 2
%d = constant f32[30, 1, 3, 3] fill 3
%v = constant f32[16, 30, 1, 1] fill 4
%1 = conv2d(ci=30,h=4,w=4,co=30,kh=1,kw=1,pad=0,layout=NCHW,epilogue=bias+silu) %x %w %b
%2 = depthwise_conv2d(c=30,h=4,w=4,layout=NCHW) %1 %d
%m = reduce(op=mean,shape=1x30x4x4,axes=2:3,keepdims=1) %2
%3 = conv2d(ci=30,h=4,w=4,co=16,kh=1,kw=1,pad=0,layout=NCHW) %2 %v
output "y" %3 f32[1, 16, 4, 4]
output "m" %m f32[1, 30, 1, 1]
)"),
      R"(%1 = conv2d(n=1,ci=30,h=4,w=4,co=32,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW1c:16c,dtype=f32,epilogue=bias+silu) %x %pad %pad_1
%2 = depthwise_conv2d(n=1,c=32,h=4,w=4,kh=3,kw=3,stride=1,pad=1,dilation=1,layout=NCHW16c,dtype=f32,epilogue=none) %1 %pad_2
%m = reduce(op=mean,shape=1x2x4x4x16,axes=2:3,keepdims=1,dtype=f32) %2
%reshape = reshape(shape=1x2x1x1x16,to=1x32x1x1,dtype=f32) %m
%slice = slice(shape=1x32x1x1,begin=0:0:0:0,step=1:1:1:1,size=1x30x1x1,dtype=f32) %reshape
%3 = conv2d(n=1,ci=32,h=4,w=4,co=16,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW16c,dtype=f32,epilogue=none) %2 %pad_3
%transpose = transpose(shape=1x1x4x4x16,perm=0:1:4:2:3,dtype=f32) %3
%reshape_1 = reshape(shape=1x1x16x4x4,to=1x16x4x4,dtype=f32) %transpose
)");
}

TEST(ChooseLayouts, WhatNeedNotStayFiniteIsNotFilledUp) {
  const std::string lines = R"(
input "x" %x f32[1, 3, 4, 4]
%w = constant f32[30, 3, 1, 1] fill 1
%v = constant f32[16, 30, 1, 1] fill 2
%a = conv2d(ci=3,h=4,w=4,co=30,kh=1,kw=1,pad=0,layout=NCHW,epilogue=reciprocal) %x %w
%b = conv2d(ci=30,h=4,w=4,co=16,kh=1,kw=1,pad=0,layout=NCHW) %a %v
output "y" %b f32[1, 16, 4, 4]
)";
  EXPECT_THAT(in_blocks(lines),
              testing::AllOf(HasSubstr("co=30"), HasSubstr("NCHW1c:16c"), testing::Not(HasSubstr("co=32"))));
}

}  // namespace
}  // namespace hone
