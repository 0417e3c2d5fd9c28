// Zeros around images, and nodes that only look like them.
#include <gtest/gtest.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

std::string folded(const std::string& lines) {
  return lines_of(fold_pads(read_graph("graph g\n" + lines), test_context()));
}

const std::string kHead = R"(
input "x" %x f32[1, 2, 4, 6]
input "w" %w f32[2, 1, 3, 3]
)";
const std::string kTail = "output \"y\" %y f32[1, 2, 2, 3]\n";

TEST(FoldPads, OfConvolutions) {
  EXPECT_EQ(folded(kHead + R"(
%p = pad(shape=1x2x4x6,before=0:0:0:0,after=0:0:1:1,mode=constant,value=0,dtype=f32) %x
%y = depthwise_conv2d(n=1,c=2,h=5,w=7,kh=3,kw=3,stride=2,pad=0,dilation=1,layout=NCHW,dtype=f32,epilogue=relu) %p %w
)" + kTail),
            "%y = depthwise_conv2d(n=1,c=2,h=4,w=6,kh=3,kw=3,stride=2,pad=0:0:1:1,dilation=1,layout=NCHW,dtype=f32,"
            "epilogue=relu) %x %w\n" +
                kTail);
  // Added to the pads that are there.
  EXPECT_EQ(folded(kHead + R"(
%p = pad(shape=1x2x4x6,before=0:0:1:0,after=0:0:0:2,mode=constant,value=0,dtype=f32) %x
%y = depthwise_conv2d(n=1,c=2,h=5,w=8,kh=3,kw=3,stride=2,pad=1:0:0:0,dilation=1,layout=NCHW,dtype=f32,epilogue=none) %p %w
output "y" %y f32[1, 2, 2, 3]
)"),
            "%y = depthwise_conv2d(n=1,c=2,h=4,w=6,kh=3,kw=3,stride=2,pad=2:0:0:2,dilation=1,layout=NCHW,dtype=f32,"
            "epilogue=none) %x %w\n" +
                kTail);
}

TEST(FoldPads, OtherBordersStay) {
  const std::string conv =
      "%y = depthwise_conv2d(n=1,c=2,h=5,w=7,kh=3,kw=3,stride=2,pad=0,dilation=1,layout=NCHW,dtype=f32,epilogue=none) "
      "%p %w\n";
  const auto stays = [&](const std::string& lines) {
    EXPECT_EQ(folded(lines), lines_of(read_graph("graph g\n" + lines))) << lines;
  };
  stays(kHead + "%p = pad(shape=1x2x4x6,before=0:0:0:0,after=0:0:1:1,mode=constant,value=1,dtype=f32) %x\n" + conv +
        kTail);
  stays(kHead + "%p = pad(shape=1x2x4x6,before=0:0:0:0,after=0:0:1:1,mode=edge,value=0,dtype=f32) %x\n" + conv + kTail);
  // Channels; and a pooling, whose borders are no zeros.
  stays(R"(
input "x" %x f32[1, 1, 5, 7]
input "w" %w f32[2, 1, 3, 3]
%p = pad(shape=1x1x5x7,before=0:1:0:0,after=0:0:0:0,mode=constant,value=0,dtype=f32) %x
)" + conv +
        kTail);
  stays(R"(
input "x" %x f32[1, 2, 4, 6]
%p = pad(shape=1x2x4x6,before=0:0:0:0,after=0:0:1:1,mode=constant,value=0,dtype=f32) %x
%y = max_pool2d(n=1,c=2,h=5,w=7,kh=3,kw=3,stride=2,pad=0,dilation=1,layout=NCHW,dtype=f32) %p
)" + kTail);
}

}  // namespace
}  // namespace hone
