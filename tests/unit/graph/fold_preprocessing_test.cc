// Functions between a picture and its first convolution become part of the convolution.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The convolution of %x, f32[1, 3, 6, 5] in planes, behind `lines`.
Graph picture(const std::string& input, const std::string& lines, const std::string& changes = "",
              const std::string& outputs = "") {
  return read_graph("graph g\ninput \"image\" %image " + input + "\n" + lines +
                    "%w = constant f32[16, 3, 3, 3] fill 5\n%b = constant f32[16] fill 6\n"
                    "%y = conv2d(n=1,ci=3,h=6,w=5,co=16,stride=2,pad=1,layout=NCHW1c:16c,epilogue=bias+relu" +
                    changes + ") %x %w %b\noutput \"y\" %y f32[1, 1, 3, 3, 16]\n" + outputs);
}
Graph folded(const Graph& g) { return fold_preprocessing(g, test_context()); }

const std::string kInterleaved = "%t = transpose(shape=1x6x5x3,perm=0:3:1:2,dtype=u8) %image\n";
const std::string kReversed = "%r = slice(shape=1x3x6x5,begin=0:2:0:0,step=1:-1:1:1,size=1x3x6x5,dtype=u8) %t\n";
const std::string kNumbers =
    "%c = constant f32[1, 3, 1, 1] [-104, -117, -123]\n%s = constant f32[1, 1, 1, 1] [0.017]\n";
std::string centred(const std::string& of) {
  return kNumbers + "%x = elementwise(op=cast:f32+mul+add,shape=1x3x6x5,operands=1x1x1x1:1x3x1x1,dtype=u8) %" + of +
         " %s %c\n";
}

TEST(FoldPreprocessing, APictureOfBytesIsOneLayer) {
  const Graph g = picture("u8[1, 6, 5, 3]", kInterleaved + centred("t")), made = folded(g);
  EXPECT_THAT(to_string(made),
              HasSubstr("layout=NCHW3c:16c,dtype=u8:f32:f32:f32,epilogue=bias+relu,prologue=mul[1]+bias)"));
  for (const char* gone : {"transpose", "elementwise"}) EXPECT_EQ(count_of(made, gone), 0) << gone;
  expect_same_values(g, made, 1e-3);
}

// The weights' input channels change places, and the operands' where they stand behind the reversal.
TEST(FoldPreprocessing, ReversedChannelsAreTheWeights) {
  const Graph behind = picture("u8[1, 6, 5, 3]", kInterleaved + kReversed + centred("r"));
  const Graph before =
      picture("u8[1, 6, 5, 3]",
              kInterleaved + kNumbers +
                  "%e = elementwise(op=cast:f32+mul+add,shape=1x3x6x5,operands=1x1x1x1:1x3x1x1,dtype=u8) %t %s %c\n"
                  "%x = slice(shape=1x3x6x5,begin=0:2:0:0,step=1:-1:1:1,size=1x3x6x5,dtype=f32) %e\n");
  for (const Graph& g : {behind, before}) {
    const Graph made = folded(g);
    for (const char* gone : {"transpose", "elementwise", "slice"}) EXPECT_EQ(count_of(made, gone), 0) << gone;
    expect_same_values(g, made, 1e-3);
  }
}

TEST(FoldPreprocessing, FunctionsInFrontOfTheTransposition) {
  const Graph g = picture("u8[1, 6, 5, 3]",
                          "%c = constant f32[1, 1, 1, 3] [-104, -117, -123]\n"
                          "%e = elementwise(op=cast:f32+add+mul[0.5],shape=1x6x5x3,operands=1x1x1x3,dtype=u8) %image "
                          "%c\n%x = transpose(shape=1x6x5x3,perm=0:3:1:2,dtype=f32) %e\n");
  const Graph made = folded(g);
  EXPECT_THAT(to_string(made), HasSubstr("prologue=bias+mul[0.5]"));
  EXPECT_EQ(made.nodes.size(), 2U);  // a view, and the convolution
  expect_same_values(g, made, 1e-3);
}

// This model has its channels last and transposes them itself.
TEST(FoldPreprocessing, ReversedChannelsInFrontOfTheTransposition) {
  const Graph g = picture("u8[1, 6, 5, 3]",
                          "%r = slice(shape=1x6x5x3,begin=0:0:0:2,step=1:1:1:-1,size=1x6x5x3,dtype=u8) %image\n"
                          "%c = constant f32[1, 1, 1, 3] [-104, -117, -123]\n"
                          "%e = elementwise(op=cast:f32+add+mul[0.5],shape=1x6x5x3,operands=1x1x1x3,dtype=u8) %r "
                          "%c\n%x = transpose(shape=1x6x5x3,perm=0:3:1:2,dtype=f32) %e\n");
  const Graph made = folded(g);
  EXPECT_EQ(made.nodes.size(), 2U) << to_string(made);  // a view, and the convolution
  expect_same_values(g, made, 1e-3);
}

TEST(FoldPreprocessing, OfOtherTypesAndInPlanes) {
  const Graph planes =
                  picture("s16[1, 3, 6, 5]", "%x = elementwise(op=cast:f32+mul[0.5],shape=1x3x6x5,dtype=s16) %image\n"),
              floats = picture("f32[1, 6, 5, 3]", "%x = transpose(shape=1x6x5x3,perm=0:3:1:2,dtype=f32) %image\n"),
              bare = picture("u8[1, 3, 6, 5]", "%x = elementwise(op=cast:f32,shape=1x3x6x5,dtype=u8) %image\n");
  EXPECT_THAT(to_string(folded(planes)), HasSubstr("layout=NCHW1c:16c,dtype=s16:f32:f32:f32"));
  EXPECT_THAT(to_string(folded(floats)), HasSubstr("layout=NCHW3c:16c,dtype=f32"));
  EXPECT_THAT(to_string(folded(bare)), HasSubstr("layout=NCHW1c:16c,dtype=u8:f32:f32:f32"));
  for (const Graph& g : {planes, floats, bare}) {
    EXPECT_LE(folded(g).nodes.size(), 2U);
    expect_same_values(g, folded(g), 1e-3);
  }
}

// As GPUs have them: a transposition of bytes stays in front.
TEST(FoldPreprocessing, ConvolutionsThatWritePlanes) {
  const Graph g = read_graph("graph g\ninput \"image\" %image u8[1, 6, 5, 3]\n" + kInterleaved + centred("t") +
                             "%w = constant f32[4, 3, 3, 3] fill 5\n%y = conv2d(n=1,ci=3,h=6,w=5,co=4,layout=NCHW) %x "
                             "%w\noutput \"y\" %y f32[1, 4, 6, 5]\n");
  const Graph made = folded(g);
  EXPECT_THAT(to_string(made), HasSubstr("layout=NCHW,dtype=u8:f32:f32:f32,epilogue=none,prologue=mul[1]+bias)"));
  EXPECT_EQ(count_of(made, "transpose"), 1);
  EXPECT_EQ(count_of(made, "elementwise"), 0);
  expect_same_values(g, made, 1e-3);
}

// Left as they are: values that others read too, more than one or two instructions, and values unknown until a run.
TEST(FoldPreprocessing, LeavesTheRest) {
  const Graph graphs[] = {
      picture("u8[1, 6, 5, 3]", kInterleaved + centred("t"), "", "output \"x\" %x f32[1, 3, 6, 5]\n"),
      picture("u8[1, 3, 6, 5]", "%x = elementwise(op=cast:f32+tanh,shape=1x3x6x5,dtype=u8) %image\n"),
      picture("s32[1, 3, 6, 5]", "%x = elementwise(op=cast:f32,shape=1x3x6x5,dtype=s32) %image\n"),
      picture("f32[1, 3, 6, 5]", "%x = elementwise(op=mul[0.5],shape=1x3x6x5,dtype=f32) %image\n"),
      picture("u8[1, 3, 6, 5]",
              "%c = elementwise(op=cast:f32,shape=1x3x6x5,dtype=u8) %image\n"
              "%x = elementwise(op=add[1.0]+x=s+mul[s],shape=1x3x6x5,dtype=f32) %c\n"),
      picture("u8[1, 3, 6, 5]", "%x = elementwise(op=cast:f32+mul[0.5],shape=1x3x6x5,dtype=u8) %image\n",
              ",prologue=relu")};
  for (const Graph& g : graphs) EXPECT_EQ(to_string(folded(g)), to_string(g));
}

}  // namespace
}  // namespace hone
