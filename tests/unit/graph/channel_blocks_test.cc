// Images in smaller blocks than their number of channels would have.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A tensor in blocks of 8 is not converted for a concatenation in blocks of 16.
Graph in_blocks_as_before(const std::string& lines) {
  const Graph g = read_graph("graph g\n" + lines);
  Graph out = choose_layouts(g, {test_operators(), test_functions(), 16});
  verify(out);
  expect_same_values(g, out);
  return out;
}

const char* const kParts = R"(
input "x" %x f32[1, 4, 5, 3]
%u = constant f32[24, 4, 1, 1] fill 1
%v = constant f32[24, 4, 1, 1] fill 2
%w = constant f32[64, 4, 1, 1] fill 3
%a = conv2d(ci=4,h=5,w=3,co=24,kh=1,kw=1,pad=0,layout=NCHW) %x %u
%b = conv2d(ci=4,h=5,w=3,co=24,kh=1,kw=1,pad=0,layout=NCHW) %x %v
%d = conv2d(ci=4,h=5,w=3,co=64,kh=1,kw=1,pad=0,layout=NCHW) %x %w
)";

TEST(ChooseLayouts, PartsInSmallerBlocksStayInThem) {
  const Graph g = in_blocks_as_before(std::string(kParts) + R"(
%c = concat(shapes=1x24x5x3:1x24x5x3,axis=1) %a %b
%r = elementwise(op=relu,shape=1x48x5x3) %c
%k = constant f32[16, 48, 1, 1] fill 4
%y = conv2d(ci=48,h=5,w=3,co=16,kh=1,kw=1,pad=0,layout=NCHW) %r %k
output "y" %y f32[1, 16, 5, 3]
)");
  EXPECT_EQ(count_of(g, "transpose"), 1) << to_string(g);  // the output
  EXPECT_THAT(to_string(g), HasSubstr("layout=NCHW8c:16c"));
  EXPECT_THAT(to_string(g), HasSubstr("shape=1x6x5x3x8"));
}

TEST(ChooseLayouts, PartsInLargerBlocksAreMovedForAConvolution) {
  const std::string lines = std::string(kParts) + R"(
%c = concat(shapes=1x64x5x3:1x24x5x3,axis=1) %d %a
)";
  const Graph g = in_blocks_as_before(lines + R"(
%k = constant f32[16, 88, 1, 1] fill 4
%y = conv2d(ci=88,h=5,w=3,co=16,kh=1,kw=1,pad=0,layout=NCHW) %c %k
output "y" %y f32[1, 16, 5, 3]
)");
  EXPECT_EQ(count_of(g, "transpose"), 2) << to_string(g);
  EXPECT_THAT(to_string(g), HasSubstr("transpose(shape=1x4x5x3x2x8,perm=0:1:4:2:3:5"));
  EXPECT_THAT(to_string(in_blocks_as_before(lines + "output \"c\" %c f32[1, 88, 5, 3]\n")),
              testing::Not(HasSubstr("perm=0:1:4:2:3:5")));
}

TEST(ChooseLayouts, WhatKeepsItsChannelsReadsWholeVectors) {
  const Graph g = in_blocks_as_before(std::string(kParts) + R"(
%c = concat(shapes=1x24x5x3:1x24x5x3,axis=1) %a %b
%k = constant f32[48, 1, 3, 3] fill 4
%y = depthwise_conv2d(c=48,h=5,w=3,kh=3,kw=3,layout=NCHW) %c %k
%s = max_pool2d(c=48,h=5,w=3,kh=3,kw=3,stride=1,pad=1,layout=NCHW) %c
%z = elementwise(op=mul,shape=1x48x5x3,operands=same) %y %s
output "z" %z f32[1, 48, 5, 3]
)");
  EXPECT_EQ(count_of(g, "transpose"), 2) << to_string(g);  // one for both, and the output
  EXPECT_THAT(to_string(g), HasSubstr("transpose(shape=1x3x2x5x3x8,perm=0:1:3:4:2:5"));
  EXPECT_THAT(to_string(g), HasSubstr("layout=NCHW16c"));
}

TEST(ChooseLayouts, ImagesInTwoKindsOfBlocksMeetInOne) {
  const Graph g = in_blocks_as_before(std::string(kParts) + R"(
%c = concat(shapes=1x24x5x3:1x24x5x3,axis=1) %a %b
%n = constant f32[48, 64, 1, 1] fill 5
%e = conv2d(ci=64,h=5,w=3,co=48,kh=1,kw=1,pad=0,layout=NCHW) %d %n
%f = conv2d(ci=64,h=5,w=3,co=48,kh=1,kw=1,pad=0,layout=NCHW,epilogue=add) %d %n %c
%k = constant f32[1, 48, 1, 1] fill 6
%s = elementwise(op=add+mul,shape=1x48x5x3,operands=same:1x48x1x1) %c %e %k
%t = elementwise(op=add+add,shape=1x48x5x3,operands=same:same) %e %s %f
output "t" %t f32[1, 48, 5, 3]
)");
  EXPECT_THAT(to_string(g), HasSubstr("perm=0:1:4:2:3:5"));
  EXPECT_THAT(to_string(g), HasSubstr("perm=0:1:3:4:2:5"));
}

// A transposed convolution of stride 2: 96 channels are 24 at four places.
TEST(ChooseLayouts, ChannelsThatAreCutAreInBlocksOfThePieces) {
  const Graph g = in_blocks_as_before(R"(
input "x" %x f32[1, 16, 5, 3]
%w = constant f32[96, 16, 1, 1] fill 1
%k = constant f32[16, 24, 1, 1] fill 2
%a = conv2d(ci=16,h=5,w=3,co=96,kh=1,kw=1,pad=0,layout=NCHW) %x %w
%b = reshape(shape=1x96x5x3,to=1x2x2x24x5x3) %a
%c = transpose(shape=1x2x2x24x5x3,perm=0:3:4:1:5:2) %b
%d = reshape(shape=1x24x5x2x3x2,to=1x24x10x6) %c
%y = conv2d(ci=24,h=10,w=6,co=16,kh=1,kw=1,pad=0,layout=NCHW) %d %k
output "y" %y f32[1, 16, 10, 6]
)");
  EXPECT_THAT(to_string(g), HasSubstr("layout=NCHW16c:8c"));
  const Graph joined = simplify_movement(join_transposes(g, test_context()), test_context());
  // The input, the places, the output.
  EXPECT_EQ(count_of(joined, "transpose"), 3) << to_string(joined);
  expect_same_values(g, joined);
}

}  // namespace
}  // namespace hone
